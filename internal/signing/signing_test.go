package signing

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func ring(t testing.TB, keys ...Key) *Ring {
	t.Helper()
	r, err := New(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func key(id string, fill byte) Key {
	return Key{ID: id, Secret: bytes.Repeat([]byte{fill}, MinSecret)}
}

func TestSignature(t *testing.T) {
	r := ring(t, key("k1", 1))
	sig := r.Sign("content", "a_1", "1700000000")
	if !r.Verify("content", sig, "a_1", "1700000000") {
		t.Fatal("own signature is not believed")
	}
	if sig != r.Sign("content", "a_1", "1700000000") {
		t.Fatal("two signatures of the same parts differ")
	}
	if strings.ContainsAny(sig, "+/=&? ") {
		t.Fatalf("signature %q does not fit into an address as it is", sig)
	}
	for _, c := range []struct {
		name, purpose string
		parts         []string
	}{
		{"another purpose", "confirm", []string{"a_1", "1700000000"}},
		{"another part", "content", []string{"a_2", "1700000000"}},
		{"parts cut elsewhere", "content", []string{"a_11", "700000000"}},
		{"parts joined", "content", []string{"a_11700000000"}},
		{"a part more", "content", []string{"a_1", "1700000000", ""}},
		{"a part less", "content", []string{"a_1"}},
		{"purpose moved into a part", "", []string{"content", "a_1", "1700000000"}},
		{"none", "content", nil},
	} {
		if r.Verify(c.purpose, sig, c.parts...) {
			t.Errorf("%s: believed", c.name)
		}
	}
}

// Every change of every character is seen, also of the last one, some of
// whose bits base64 does not use.
func TestTamperedSignature(t *testing.T) {
	r := ring(t, key("k1", 1), key("k2", 2))
	sig := r.Sign("content", "a_1")
	for i := range len(sig) {
		for c := range 256 {
			if byte(c) == sig[i] {
				continue
			}
			bad := []byte(sig)
			bad[i] = byte(c)
			if r.Verify("content", string(bad), "a_1") {
				t.Fatalf("believed with %q instead of %q at %d", bad[i], sig[i], i)
			}
		}
	}
	for _, bad := range []string{"", ".", "k1", "k1.", sig[:len(sig)-1], sig + "A", sig + "=", sig + "\n", " " + sig, sig + "." + sig} {
		if r.Verify("content", bad, "a_1") {
			t.Errorf("believed: %q", bad)
		}
	}
}

func TestRotation(t *testing.T) {
	before, after, gone := ring(t, key("old", 1)), ring(t, key("new", 2), key("old", 1)), ring(t, key("new", 2))
	sig := before.Sign("content", "a_1")
	if !after.Verify("content", sig, "a_1") {
		t.Error("the previous key is not believed after a rotation")
	}
	if next := after.Sign("content", "a_1"); !strings.HasPrefix(next, "new.") {
		t.Errorf("signed %q: not with the current key", next)
	}
	if gone.Verify("content", sig, "a_1") {
		t.Error("a key that was taken out is believed")
	}
	// The same id with another secret is another key.
	if ring(t, key("old", 3)).Verify("content", sig, "a_1") {
		t.Error("another secret is believed")
	}
}

func TestBadKeys(t *testing.T) {
	for name, keys := range map[string][]Key{
		"no id":        {{Secret: make([]byte, 32)}},
		"dot in id":    {{ID: "a.b", Secret: make([]byte, 32)}},
		"long id":      {{ID: strings.Repeat("k", 33), Secret: make([]byte, 32)}},
		"short secret": {{ID: "k", Secret: make([]byte, 31)}},
		"twice":        {key("k", 1), key("k", 2)},
	} {
		if _, err := New(keys[0], keys[1:]...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, text := range []string{"", "{}", `{"keys":[]}`, `{"keys":[{"id":"k","secret":"c2hvcnQ="}]}`, `{"keys":[{"id":"k","secret":"***hidden***"}]}`} {
		_, err := Parse([]byte(text))
		if err == nil {
			t.Errorf("%s: accepted", text)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	rings := make([]*Ring, 8)
	var wg sync.WaitGroup
	for i := range rings {
		wg.Go(func() {
			r, err := Load(path)
			if err != nil {
				t.Error(err)
				return
			}
			rings[i] = r
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	sig := rings[0].Sign("content", "a_1")
	for i, r := range rings {
		if !r.Verify("content", sig, "a_1") {
			t.Errorf("process %d has another key", i)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	var f keyFile
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil || len(f.Keys) != 1 || len(f.Keys[0].Secret) != MinSecret {
		t.Errorf("file holds %d keys, %v", len(f.Keys), err)
	}
	if _, err := Load(filepath.Join(path, "below-a-file")); err == nil {
		t.Error("a path below a file was accepted")
	}
}

func BenchmarkSign(b *testing.B) {
	r := ring(b, key("k1", 1))
	b.ReportAllocs()
	for b.Loop() {
		r.Sign("content", "a_0199f6b0-0000-7000-8000-000000000000", "inline", "1700000000")
	}
}

func BenchmarkVerify(b *testing.B) {
	r := ring(b, key("k1", 1))
	sig := r.Sign("content", "a_0199f6b0-0000-7000-8000-000000000000", "inline", "1700000000")
	b.ReportAllocs()
	for b.Loop() {
		if !r.Verify("content", sig, "a_0199f6b0-0000-7000-8000-000000000000", "inline", "1700000000") {
			b.Fatal("not believed")
		}
	}
}
