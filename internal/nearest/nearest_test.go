package nearest

import "testing"

func TestOf(t *testing.T) {
	known := []string{"model", "agent", "sources", "tools", "store"}
	for word, want := range map[string]string{
		"modle": "model", "tool": "tools", "source": "sources", "strore": "store",
		"": "", "zzzzzz": "", "completely different": "",
	} {
		if got := Of(word, known); got != want {
			t.Errorf("Of(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Of("model", nil); got != "" {
		t.Errorf("of no candidates %q", got)
	}
}
