package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a UI block from outside.
const (
	MaxUIBlockID = 128     // characters of its id
	MaxVendor    = 4 << 10 // bytes of its _meta
)

// ErrInvalidUIBlock is wrapped by errors about malformed UI blocks.
var ErrInvalidUIBlock = errors.New("invalid UI block")

// UIBlock is a UiBlockEvent as others send one: the answer of a skill, a
// connector.
type UIBlock struct {
	ID        string
	Namespace string
	BlockType string
	// Version is the whole semantic version; its major is the version of the
	// block type.
	Version string
	Data    json.RawMessage
	// Position is after_text, inline, before_text or empty.
	Position string
	Meta     map[string]json.RawMessage
}

// Type returns the name of the block's type, as the registry knows it, and its
// major version.
func (u UIBlock) Type() (name string, major int) {
	digits, _, _ := strings.Cut(u.Version, ".")
	major, _ = strconv.Atoi(digits) // 0 for a block that ParseUIBlock did not make
	return ShortName(u.Namespace + "." + u.BlockType), major
}

// CheckSource refuses a block of a reserved namespace from an external source.
func (u UIBlock) CheckSource(s Source) error {
	if s == SourceExternal && reserved(u.Namespace) {
		return fmt.Errorf("%w: namespace %q is reserved", ErrInvalidUIBlock, u.Namespace)
	}
	return nil
}

// ParseUIBlock reads a UiBlockEvent. Its form is judged, not its data: that is
// a matter of the registry, as whether there is such a type is.
func ParseUIBlock(raw json.RawMessage) (UIBlock, error) {
	bad := func(format string, args ...any) (UIBlock, error) {
		return UIBlock{}, fmt.Errorf("%w: %w", ErrInvalidUIBlock, fmt.Errorf(format, args...))
	}
	// A struct would also take members in capitals.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return bad("not an object: %w", err)
	}
	var u UIBlock
	for name, into := range map[string]*string{"id": &u.ID, "namespace": &u.Namespace, "block_type": &u.BlockType, "version": &u.Version} {
		if err := readString(members[name], into); err != nil {
			return bad("%s: %w", name, err)
		}
	}
	if u.ID == "" || utf8.RuneCountInString(u.ID) > MaxUIBlockID || strings.ContainsFunc(u.ID, isInvisible) {
		return bad("id: 1 to %d characters, all of them visible", MaxUIBlockID)
	}
	major, ok := semver(u.Version)
	if !ok {
		return bad("version: %q is no semantic version", clip(u.Version, 80))
	}
	if _, err := ParseToken(u.Namespace + "." + u.BlockType + "@" + major); err != nil {
		return bad("%w", err)
	}
	if strings.Contains(u.BlockType, ".") {
		return bad("block_type: %q has a dot", clip(u.BlockType, 80))
	}
	if u.Data, ok = members["data"]; !ok {
		return bad("data: is missing")
	}
	if position, ok := members["position"]; ok {
		if err := readString(position, &u.Position); err != nil || !slices.Contains([]string{"after_text", "inline", "before_text"}, u.Position) {
			return bad("position: after_text, inline or before_text")
		}
	}
	if meta, ok := members["_meta"]; ok {
		if err := json.Unmarshal(meta, &u.Meta); err != nil || u.Meta == nil {
			return bad("_meta: not an object")
		}
		if plainSize(meta) > MaxVendor {
			return bad("_meta: larger than %d bytes", MaxVendor)
		}
	}
	for name := range members {
		switch name {
		case "id", "namespace", "block_type", "version", "data", "position", "_meta":
		default:
			return bad("%q is no member of a UI block", clip(name, 80))
		}
	}
	return u, nil
}

func readString(raw json.RawMessage, into *string) error {
	if len(raw) == 0 {
		return errors.New("is missing")
	}
	if raw[0] != '"' {
		return errors.New("not a string")
	}
	return json.Unmarshal(raw, into)
}

// semver reads a semantic version (2.0.0 of that specification) and returns
// its major.
func semver(s string) (major string, ok bool) {
	s, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(s, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 || !every(numbers, isNumber) {
		return "", false
	}
	identifier := func(s string) bool {
		return s != "" && all(s, func(c byte) bool { return isAlnum(c) || c == '-' })
	}
	if hasPre && !every(strings.Split(pre, "."), func(s string) bool { return identifier(s) && (!all(s, isDigit) || isNumber(s)) }) {
		return "", false
	}
	if hasBuild && !every(strings.Split(build, "."), identifier) {
		return "", false
	}
	return numbers[0], true
}

// isNumber reports whether s is digits without a leading zero.
func isNumber(s string) bool {
	return s != "" && all(s, isDigit) && (s == "0" || s[0] != '0')
}

func every(list []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !ok(s) })
}
