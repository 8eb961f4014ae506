package scripted

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"gopkg.in/yaml.v3"
)

//go:embed scenarios/*.yaml
var embedded embed.FS

// The scenarios that the engine itself asks for.
const (
	unknownScenario = "unknown"      // when no question fits
	missingScenario = "missing-tool" // when a tool is needed that is not offered
)

// languages are those that every text has.
var languages = []string{"en", "zh"}

// scenario is one file.
type scenario struct {
	name  string
	Order int `yaml:"order"`
	// Pace multiplies the pieces in a second, for long answers.
	Pace      float64             `yaml:"pace"`
	Questions map[string][]string `yaml:"questions"`
	// Listed names tools without which the questions are not listed: what the
	// answer speaks of is there with them only.
	Listed []string  `yaml:"listed"`
	When   condition `yaml:"when"`
	Turns  []scene   `yaml:"turns"`
}

// condition says which questions a scenario answers.
type condition struct {
	Match  map[string]pattern `yaml:"match"`
	Not    pattern            `yaml:"not"`
	System pattern            `yaml:"system"`
	// Attached wants a question with files, whatever it says.
	Attached bool     `yaml:"attached"`
	Tools    []string `yaml:"tools"`
	// Forced names a tool: the scenario answers requests that leave no way
	// around calling it, and no others.
	Forced string `yaml:"forced"`
}

// scene is what is done in one model call.
type scene struct {
	Turn int `yaml:"turn"`
	// If is ok, error or the code of an error: what the tools answered.
	If string `yaml:"if"`
	// Has names a fact that the result must have.
	Has string `yaml:"has"`
	Do  []step `yaml:"do"`
}

// step is one thing done. Exactly one of its members but Times is set.
type step struct {
	Say         *words    `yaml:"say"`
	Times       int       `yaml:"times"`
	Think       *words    `yaml:"think"`
	Call        *callStep `yaml:"call"`
	Fence       *fence    `yaml:"fence"`
	Placeholder *card     `yaml:"placeholder"`
	Tag         *tag      `yaml:"tag"`
	Wait        duration  `yaml:"wait"`
	Fail        *failure  `yaml:"fail"`
}

type callStep struct {
	Tool string              `yaml:"tool"`
	Args map[string]argument `yaml:"args"`
	// Raw replaces the arguments, to show what happens to unreadable ones.
	Raw *text `yaml:"raw"`
	// Unoffered allows a tool that does not exist.
	Unoffered bool `yaml:"unoffered"`
}

// argument is a fixed value, a template or, with templates inside, a list or
// the members of an object. Literal says that the template's text is JSON, a
// number or true or false; other text that is empty leaves the argument out.
type argument struct {
	value    any
	template *text
	literal  bool
	list     []argument
	members  map[string]argument
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *argument) UnmarshalYAML(n *yaml.Node) error {
	*a = argument{}
	switch {
	case n.Kind == yaml.SequenceNode:
		a.list = []argument{}
		return n.Decode(&a.list)
	case n.Kind == yaml.MappingNode:
		a.members = map[string]argument{}
		return n.Decode(&a.members)
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "{{"):
		a.literal = n.Tag == "!number" || n.Tag == "!bool"
		a.template = &text{}
		return a.template.UnmarshalYAML(n)
	}
	return n.Decode(&a.value)
}

// errorCode is the form of an error's code in an if.
var errorCode = regexp.MustCompile(`^[A-Z][A-Z_]*$`)

type fence struct {
	Name string `yaml:"name"`
	Body *words `yaml:"body"`
}

type card struct {
	Card string `yaml:"card"`
	ID   *text  `yaml:"id"`
}

type tag struct {
	Name  string          `yaml:"name"`
	Attrs map[string]text `yaml:"attrs"`
	Body  *words          `yaml:"body"`
}

// failure ends the answer.
type failure struct {
	Status     int      `yaml:"status"`
	Message    string   `yaml:"message"`
	RetryAfter duration `yaml:"retry_after"`
	// Once lets the same request succeed when it comes again.
	Once bool `yaml:"once"`
	// Drop cuts the connection instead.
	Drop bool `yaml:"drop"`
	// Finish ends the answer with this reason instead.
	Finish string `yaml:"finish"`
}

// variable reads a value from the conversation.
type variable struct {
	// Rules are tried in their order on the last user text and then, unless
	// Here is set, on the messages before it.
	Rules   []rule `yaml:"rules"`
	Here    bool   `yaml:"here"`
	Default string `yaml:"default"`
}

type rule struct {
	Find pattern `yaml:"find"`
	As   string  `yaml:"as"`
}

// pattern is a regular expression.
type pattern struct{ *regexp.Regexp }

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *pattern) UnmarshalYAML(n *yaml.Node) error {
	re, err := regexp.Compile(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	p.Regexp = re
	return nil
}

func (p pattern) in(s string) bool { return p.Regexp != nil && p.MatchString(s) }

// duration is a time such as 1.5s.
type duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*d = duration(v)
	return nil
}

// text is a template.
type text struct{ *template.Template }

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *text) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := template.New("text").Option("missingkey=error").Parse(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	t.Template = parsed
	return nil
}

// words are the sentences of one paragraph in every language.
type words map[string][]text

// UnmarshalYAML implements yaml.Unmarshaler. It reads one text for all
// languages, or a text or a list of texts for each.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	*w = words{}
	if n.Kind == yaml.ScalarNode {
		var t text
		if err := n.Decode(&t); err != nil {
			return err
		}
		for _, lang := range languages {
			(*w)[lang] = []text{t}
		}
		return nil
	}
	var each map[string]yaml.Node
	if err := n.Decode(&each); err != nil {
		return err
	}
	for lang, value := range each {
		list := []text{{}}
		var err error
		if value.Kind == yaml.SequenceNode {
			err = value.Decode(&list)
		} else {
			err = value.Decode(&list[0])
		}
		if err != nil {
			return err
		}
		(*w)[lang] = list
	}
	for _, lang := range languages {
		if len((*w)[lang]) == 0 {
			return fmt.Errorf("line %d: no text for language %s", n.Line, lang)
		}
	}
	return nil
}

// script is everything the model knows.
type script struct {
	scenarios []*scenario // by order, then name
	variables map[string]variable
}

// load reads the embedded scenarios and then those of dir, which may be nil.
// A file of dir replaces an embedded one of the same name.
func load(dir fs.FS) (*script, error) {
	own, err := fs.Sub(embedded, "scenarios")
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	s := &script{variables: map[string]variable{}}
	byName := map[string]*scenario{}
	for _, source := range []fs.FS{own, dir} {
		if source == nil {
			continue
		}
		files, err := fs.Glob(source, "*.yaml")
		if err != nil {
			return nil, fmt.Errorf("scripted: %w", err)
		}
		for _, file := range files {
			data, err := fs.ReadFile(source, file)
			if err != nil {
				return nil, fmt.Errorf("scripted: %w", err)
			}
			name := strings.TrimSuffix(path.Base(file), ".yaml")
			if strings.HasPrefix(name, "_") {
				err = decode(data, &s.variables)
			} else {
				sc := &scenario{name: name}
				if err = decode(data, sc); err == nil {
					err = sc.check()
				}
				byName[name] = sc
			}
			if err != nil {
				return nil, fmt.Errorf("scripted: %s: %w", file, err)
			}
		}
	}
	s.scenarios = slices.SortedFunc(maps.Values(byName), func(a, b *scenario) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.name, b.name))
	})
	return s, nil
}

func decode(data []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	return dec.Decode(v)
}

// check finds what the decoder cannot.
func (s *scenario) check() error {
	if len(s.Turns) == 0 {
		return errors.New("it has no turns")
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		if t.If != "" && t.If != "ok" && t.If != "error" && !errorCode.MatchString(t.If) {
			return fmt.Errorf("turns[%d]: if is ok, error or the code of one, not %q", i, t.If)
		}
		for j := range t.Do {
			if err := t.Do[j].check(); err != nil {
				return fmt.Errorf("turns[%d].do[%d]: %w", i, j, err)
			}
		}
	}
	return nil
}

func (s *step) check() error {
	set := 0
	for _, has := range []bool{s.Say != nil, s.Think != nil, s.Call != nil, s.Fence != nil, s.Placeholder != nil, s.Tag != nil, s.Wait != 0, s.Fail != nil} {
		if has {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("a step does one thing, this one %d", set)
	}
	return nil
}
