package inlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"gopkg.in/yaml.v3"

	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// envPrefix begins every environment variable that sets a key.
const envPrefix = "INLAY_"

// maxConfigBytes bounds a configuration file.
const maxConfigBytes = 4 << 20

// secretKeys may not stand in a file.
var secretKeys = map[string]string{
	"model.api_key": "model.api_key_env or model.api_key_file",
	"agent.api_key": "agent.api_key_env or agent.api_key_file",
	"auth.secret":   "auth.secret_env or auth.secret_file",
}

// Load reads a YAML file (none when path is empty), then the environment: each
// scalar key can be set by INLAY_ and its path in capitals, joined by _
// (INLAY_MODEL_BASE_URL). Keys that do not exist are errors that name the
// nearest one that does.
func Load(path string, environ []string) (Config, error) {
	k := koanf.New(".")
	if path != "" {
		m, err := readYAML(path)
		if err != nil {
			return Config{}, err
		}
		if err := k.Load(confmap.Provider(m, ""), nil); err != nil {
			return Config{}, fmt.Errorf("read %s: %w", path, err)
		}
	}
	env, err := fromEnv(environ)
	if err != nil {
		return Config{}, err
	}
	if err := k.Load(confmap.Provider(env, ""), nil); err != nil {
		return Config{}, fmt.Errorf("read environment: %w", err)
	}
	var c Config
	if err := decode(k.Raw(), &c); err != nil {
		if path != "" {
			return Config{}, fmt.Errorf("%s: %w", path, err)
		}
		return Config{}, err
	}
	return c, nil
}

func readYAML(path string) (map[string]any, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if st.Size() > maxConfigBytes {
		return nil, fmt.Errorf("read configuration: %s is larger than %d bytes", path, maxConfigBytes)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var file any
	if err := yaml.Unmarshal(raw, &file); err != nil {
		if bytes.HasPrefix(raw, []byte("\t")) || bytes.Contains(raw, []byte("\n\t")) {
			err = fmt.Errorf("%w (YAML is indented with spaces, not with tabs)", err)
		}
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	m, ok := file.(map[string]any)
	if !ok && file != nil {
		return nil, fmt.Errorf("read configuration %s: the file must hold keys, such as model or tools", path)
	}
	for key, instead := range secretKeys {
		section, name, _ := strings.Cut(key, ".")
		if s, ok := m[section].(map[string]any); ok && s[name] != nil {
			return nil, fmt.Errorf("%s: %s must not stand in a file; use %s", path, key, instead)
		}
	}
	return m, nil
}

// fromEnv turns INLAY_* variables into nested keys.
func fromEnv(environ []string) (map[string]any, error) {
	leaves := make(map[string][]string)
	deep := make(map[string]string) // keys that hold more than a word
	configKeys(reflect.TypeFor[Config](), nil, func(path []string, word bool) {
		name := envPrefix + strings.ToUpper(strings.Join(path, "_"))
		if word {
			leaves[name] = path
		} else {
			deep[name] = strings.Join(path, ".")
		}
	})
	out := map[string]any{}
	var errs []error
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		path, ok := leaves[name]
		if key, known := deep[name]; known {
			errs = append(errs, fmt.Errorf("environment variable %s sets nothing: %s holds more than a word and is set in a file", name, key))
			continue
		}
		if !ok {
			names := make([]string, 0, len(leaves))
			for n := range leaves {
				names = append(names, n)
			}
			sort.Strings(names)
			errs = append(errs, fmt.Errorf("environment variable %s sets nothing%s", name, didYouMean(nearest.Of(name, names))))
			continue
		}
		at := out
		for _, p := range path[:len(path)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[path[len(path)-1]] = value
	}
	return out, errors.Join(errs...)
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return "; did you mean " + word + "?"
}

// configKeys calls f with the path of every key, sections aside, and whether its
// value is one word or a list of words.
func configKeys(t reflect.Type, path []string, f func(path []string, word bool)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		here := append(slices.Clone(path), name)
		ft := field.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		switch ft.Kind() {
		case reflect.Struct:
			configKeys(ft, here, f)
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			f(here, true)
		case reflect.Slice:
			f(here, ft.Elem().Kind() == reflect.String) // separated by commas
		case reflect.Map:
			f(here, false)
		}
	}
}

// decode fills a Config from nested keys and refuses those that do not exist.
func decode(m map[string]any, c *Config) error {
	var meta mapstructure.Metadata
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: c, TagName: "json", Metadata: &meta, WeaklyTypedInput: true,
		MatchName: func(key, field string) bool { return key == field },
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			durations,
			wholeNumbers,
			wordsHook,
			actionNames,
			mapstructure.StringToSliceHookFunc(","),
		),
	})
	if err != nil {
		return fmt.Errorf("decode configuration: %w", err)
	}
	if err := dec.Decode(m); err != nil {
		return errors.Join(worded(err, "")...)
	}
	if len(meta.Unused) == 0 {
		return nil
	}
	sort.Strings(meta.Unused)
	var errs []error
	for _, key := range meta.Unused {
		errs = append(errs, fmt.Errorf("unknown key %q%s", key, didYouMean(nearestKey(key))))
	}
	return errors.Join(errs...)
}

// worded says what the decoder found in the words of the file: one error for
// each key, with what is expected there.
func worded(err error, key string) []error {
	var expected reflect.Type
	var value any
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var errs []error
		for _, one := range e.Unwrap() {
			errs = append(errs, worded(one, key)...)
		}
		return errs
	case *mapstructure.DecodeError:
		return worded(e.Unwrap(), e.Name())
	case *mapstructure.ParseError:
		expected, value = e.Expected.Type(), e.Value
	case *mapstructure.UnconvertibleTypeError:
		expected, value = e.Expected.Type(), e.Value
	default:
		if key == "" && errors.Unwrap(err) != nil {
			return worded(errors.Unwrap(err), key)
		}
		return []error{fmt.Errorf("%s: %w", key, err)}
	}
	if s, ok := value.(string); ok {
		return []error{fmt.Errorf("%s: %q is not %s", key, s, kindOf(expected))}
	}
	return []error{fmt.Errorf("%s must be %s", key, kindOf(expected))}
}

// kindOf names a type for people who write YAML.
func kindOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	default:
		return "a section of keys"
	}
}

// wholeNumbers refuses 1.5 where it would silently become 1.
func wholeNumbers(_, to reflect.Type, v any) (any, error) {
	if k := to.Kind(); k != reflect.Int && k != reflect.Int64 {
		return v, nil
	}
	if f, ok := v.(float64); ok && f != math.Trunc(f) {
		return nil, fmt.Errorf("%v is not a whole number", v)
	}
	return v, nil
}

// durations reads "10s"; a bare number would be nanoseconds, which nobody
// means.
func durations(from, to reflect.Type, v any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() || from == to {
		return v, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("%v is not a duration; write it with a unit, such as 10s", v)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, fmt.Errorf("%q is not a duration such as 10s, 2m or 1h30m", s)
	}
	return d, nil
}

// actionNames reads a list of actions' names where a program may stand.
func actionNames(from, to reflect.Type, v any) (any, error) {
	if to != reflect.TypeFor[mapping.Actions]() || from.Kind() != reflect.Slice {
		return v, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the list of actions cannot be read: %w", err)
	}
	return mapping.Actions(raw), nil
}

// nearestKey is the key most like an unknown one, among its would-be siblings.
func nearestKey(key string) string {
	parent, last := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		parent, last = key[:i], key[i+1:]
	}
	var names []string
	if t, ok := typeAt(reflect.TypeFor[Config](), parent); ok {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	if found := nearest.Of(last, names); found != "" {
		if parent != "" {
			return parent + "." + found
		}
		return found
	}
	return ""
}

// typeAt is the struct type of a section such as tools[0].block or
// sources[sales].sql.
func typeAt(t reflect.Type, path string) (reflect.Type, bool) {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		name, _, _ = strings.Cut(name, "[")
		found := false
		for i := range t.NumField() {
			tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if tag != name {
				continue
			}
			t, found = t.Field(i).Type, true
			for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
				t = t.Elem()
			}
			break
		}
		if !found || t.Kind() != reflect.Struct {
			return nil, false
		}
	}
	return t, true
}

// secret resolves a secret given by value, by the name of an environment
// variable or by a file, in that order.
func secret(what, value, env, file string) (string, error) {
	switch {
	case value != "":
		return value, nil
	case env != "":
		v, ok := os.LookupEnv(env)
		if !ok || v == "" {
			return "", fmt.Errorf("%s: the environment variable %s is not set", what, env)
		}
		return v, nil
	case file != "":
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return strings.TrimSpace(string(raw)), nil
	}
	return "", nil
}
