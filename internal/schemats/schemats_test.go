package schemats

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPayloadTypesAreNotStale(t *testing.T) {
	want, err := Payloads()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../web/packages/client/src/payloads.gen.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("payloads.gen.ts is stale: run go generate ./schema")
	}
}

func TestTypeScript(t *testing.T) {
	files := fstest.MapFS{"thing.v2.json": {Data: []byte(`{"title":"Thing","description":"A thing.","type":"object","required":["b"],
		"properties":{"b":{"const":1},"a":{"description":"An a.","type":["number","null"]},"c":{"type":"array","items":{"enum":["x",true]}},
		"d":{"$ref":"#/$defs/d"},"e":{"$ref":"#/$defs/e"},"f":{"type":"object","additionalProperties":{"type":"integer"}}},
		"$defs":{"d":{"type":"string"},"e":{"title":"ThingE","type":"object","properties":{"x":{"type":"boolean"}}}}}`)}}
	more := fstest.MapFS{"app.other.v1.json": {Data: []byte(`{"title":"Other","type":"object","properties":{"e":{"$ref":"#/$defs/e"}},
		"$defs":{"e":{"title":"ThingE","type":"object","properties":{"x":{"type":"boolean"}}}}}`)}}
	got, err := TypeScript(Set{"Things", "The things.", files}, Set{"Others", "The others.", more})
	if err != nil {
		t.Fatal(err)
	}
	const want = `
/** A thing. */
export interface Thing {
  b: 1;
  /** An a. */
  a?: number | null;
  c?: ("x" | true)[];
  d?: string;
  e?: ThingE;
  f?: Record<string, number>;
}

export interface ThingE {
  x?: boolean;
}

/** The things. */
export interface Things {
  "thing@2": Thing;
}

export interface Other {
  e?: ThingE;
}

/** The others. */
export interface Others {
  "app.other@1": Other;
}
`
	if _, body, _ := strings.Cut(string(got), "\n"); body != want {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
}

func TestTypeScriptRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"not JSON":  `{`,
		"untitled":  `{"type":"string"}`,
		"no type":   `{"title":"T"}`,
		"bad ref":   `{"title":"T","type":"object","properties":{"a":{"$ref":"#/x"}}}`,
		"any":       `{"title":"T","type":"object"}`,
		"new type":  `{"title":"T","type":"date"}`,
		"no items":  `{"title":"T","type":"array"}`,
		"odd const": `{"title":"T","const":[]}`,
	} {
		if got, err := TypeScript(Set{"T", "T.", fstest.MapFS{"t.v1.json": {Data: []byte(doc)}}}); err == nil {
			t.Errorf("%s: accepted as %s", name, got)
		}
	}
	if _, err := TypeScript(Set{"T", "T.", fstest.MapFS{"t.json": {Data: []byte(`{"title":"T","type":"string"}`)}}}); err == nil {
		t.Error("a name without version was accepted")
	}
}
