package markup

import "testing"

// A child's closing tag is the child's, however long the body has become; what
// follows it no longer fits.
func TestTextBehindAChildThatFillsTheBody(t *testing.T) {
	cfg := Config{MaxBody: 24, Tags: map[string]TagSpec{"artifact": {Children: map[string]TagSpec{"action": {Raw: true}}}}}
	doc := "<artifact><action>abcdefghij</action>behind</artifact> after"
	checkLaws(t, cfg, Stop, doc, everyByte(doc))
	events := run(cfg, Stop, doc)
	kinds := ""
	for _, e := range events {
		kinds += e.Kind.String() + " " + e.Reason + ";"
	}
	if want := "start ;start ;delta ;end ;fallback too_long;text ;"; kinds != want {
		t.Errorf("got %q, want %q", kinds, want)
	}
}
