package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestApplyPatch(t *testing.T) {
	tests := []struct{ name, doc, patch, want string }{
		{"empty", `{"a":1}`, `[]`, `{"a":1}`},
		{"add", `{"a":1}`, `[{"op":"add","path":"/b","value":2}]`, `{"a":1,"b":2}`},
		{"append", `{"r":[1]}`, `[{"op":"add","path":"/r/-","value":2},{"op":"add","path":"/r/0","value":0}]`, `{"r":[0,1,2]}`},
		{"replace null", `{"a":1}`, `[{"op":"replace","path":"/a","value":null}]`, `{"a":null}`},
		{"remove", `{"a":1,"b":2}`, `[{"op":"remove","path":"/a"}]`, `{"b":2}`},
		{"move", `{"a":{"x":1},"b":{}}`, `[{"op":"move","from":"/a/x","path":"/b/y"}]`, `{"a":{},"b":{"y":1}}`},
		{"copy", `{"a":[1]}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/-","value":2}]`, `{"a":[1,2],"b":[1]}`},
		{"absent payload", ``, `[{"op":"add","path":"","value":{"rows":[]}},{"op":"add","path":"/rows/-","value":1}]`, `{"rows":[1]}`},
		{"scalar root", `null`, `[{"op":"replace","path":"","value":7}]`, `7`},
		{"copy to root", `{"a":[1]}`, `[{"op":"copy","from":"/a","path":""}]`, `[1]`},
		{"copy of root", `{"a":1}`, `[{"op":"add","path":"/b","value":2},{"op":"copy","from":"","path":"/c"}]`, `{"a":1,"b":2,"c":{"a":1,"b":2}}`},
		{"test", `{"a":[1,{"x":null}]}`, `[{"op":"test","path":"/a","value":[1.0,{"x":null}]},{"op":"test","path":"/a/1/x","value":null}]`, `{"a":[1,{"x":null}]}`},
		{"escapes", `{"a/b":{"~":1}}`, `[{"op":"replace","path":"/a~1b/~0","value":2}]`, `{"a/b":{"~":2}}`},
		{"not HTML", `{"a":"<b>"}`, `[{"op":"add","path":"/b","value":"&"}]`, `{"a":"<b>","b":"&"}`},
		{"digits are names in objects", `{"o":{}}`, `[{"op":"add","path":"/o/01","value":1}]`, `{"o":{"01":1}}`},
		{"digits are names beside arrays", `{"r":[{"01":1}]}`, `[{"op":"replace","path":"/r/0/01","value":2},{"op":"move","from":"/r/0/01","path":"/+5"}]`, `{"r":[{}],"+5":2}`},
		{"constructor alone is a name", `{}`, `[{"op":"add","path":"/constructor","value":"Sample Racing"}]`, `{"constructor":"Sample Racing"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ApplyPatch(json.RawMessage(tt.doc), json.RawMessage(tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestApplyPatchRefuses(t *testing.T) {
	big := strings.Repeat("x", MaxPayload/2)
	tests := []struct{ name, doc, patch string }{
		{"not JSON", `{}`, `[`},
		{"not an array", `{}`, `{}`},
		{"null", `{}`, `null`},
		{"null operation", `{}`, `[null]`},
		{"number operation", `{}`, `[1]`},
		{"no op", `{}`, `[{"path":"/a","value":1}]`},
		{"unknown op", `{}`, `[{"op":"merge","path":"/a","value":1}]`},
		{"no path", `{}`, `[{"op":"add","value":1}]`},
		{"number path", `{}`, `[{"op":"add","path":1,"value":1}]`},
		{"no value", `{}`, `[{"op":"add","path":"/a"}]`},
		{"no from", `{"a":1}`, `[{"op":"move","path":"/b"}]`},
		{"path without slash", `{}`, `[{"op":"add","path":"a","value":1}]`},
		{"wrong escape", `{}`, `[{"op":"add","path":"/a~2","value":1}]`},
		{"empty name", `{}`, `[{"op":"add","path":"/","value":1}]`},
		{"missing parent", `{}`, `[{"op":"add","path":"/a/b","value":1}]`},
		{"missing member", `{}`, `[{"op":"replace","path":"/a","value":1}]`},
		{"remove missing", `{}`, `[{"op":"remove","path":"/a"}]`},
		{"remove all", `{}`, `[{"op":"remove","path":""}]`},
		{"index past the end", `[1]`, `[{"op":"add","path":"/2","value":1}]`},
		{"negative index", `[1]`, `[{"op":"replace","path":"/-1","value":1}]`},
		{"dash is no element", `[1]`, `[{"op":"remove","path":"/-"}]`},
		{"index with a leading zero", `{"r":[1,2]}`, `[{"op":"add","path":"/r/-","value":3},{"op":"remove","path":"/r/01"}]`},
		{"index with a sign", `{"r":[{"a":1}]}`, `[{"op":"copy","from":"/r/+0/a","path":"/b"}]`},
		{"minus nothing", `[1]`, `[{"op":"remove","path":"/-0"}]`},
		{"huge index", `[1]`, `[{"op":"remove","path":"/99999999999999999999"}]`},
		{"into a scalar", `{"a":1}`, `[{"op":"add","path":"/a/b","value":1}]`},
		{"members of null", ``, `[{"op":"add","path":"/a","value":1}]`},
		{"test differs", `{"a":1}`, `[{"op":"test","path":"/a","value":2}]`},
		{"test of nothing", `{}`, `[{"op":"test","path":"/a","value":null}]`},
		{"into itself", `{"a":{}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`},
		{"root into itself", `{"a":{}}`, `[{"op":"move","from":"","path":"/a/b"}]`},
		{"prototype", `{}`, `[{"op":"add","path":"/__proto__/x","value":1}]`},
		{"prototype by constructor", `{}`, `[{"op":"copy","from":"/constructor/prototype","path":"/x"}]`},
		{"second operation fails", `{"a":1}`, `[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/b"}]`},
		{"copies grow too large", `{"a":"` + big + `"}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/c"},{"op":"copy","from":"/a","path":"/d"}]`},
		{"too many operations", `{}`, `[` + strings.Repeat(`{"op":"add","path":"/a","value":1},`, MaxPatchOps) + `{"op":"add","path":"/a","value":1}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.doc
			got, err := ApplyPatch(json.RawMessage(tt.doc), json.RawMessage(tt.patch))
			if !errors.Is(err, ErrPatch) {
				t.Fatalf("got %.100s, %v; want ErrPatch", got, err)
			}
			if tt.doc != before {
				t.Error("the payload was changed")
			}
		})
	}
}

func FuzzApplyPatch(f *testing.F) {
	for _, op := range []string{"add", "remove", "replace", "move", "copy", "test"} {
		for _, p := range []string{"", "/a", "/a/0", "/a/-", "/b/c", "/"} {
			f.Add(`{"a":[1,null,{}],"b":{"c":null}}`, fmt.Sprintf(`[{"op":%q,"path":%q,"from":"/a","value":null},{"op":"copy","from":"/b","path":"/a/0"}]`, op, p))
		}
	}
	f.Add(`[]`, `[{"op":"add","path":"/-","value":[[[]]]},{"op":"test","path":"","value":{"a":1}}]`)
	f.Add(`null`, `[{"op":"add","path":"","value":"x"},{"op":"add","path":"/a","value":1}]`)
	f.Fuzz(func(t *testing.T, doc, patch string) {
		if !json.Valid([]byte(doc)) || len(doc) > 1<<16 || len(patch) > 1<<16 {
			return
		}
		got, err := ApplyPatch(json.RawMessage(doc), json.RawMessage(patch))
		if err != nil {
			if !errors.Is(err, ErrPatch) {
				t.Fatalf("%v does not wrap ErrPatch", err)
			}
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s with %s gives %q", doc, patch, got)
		}
	})
}
