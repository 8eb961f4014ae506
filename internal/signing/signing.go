// Package signing makes and checks the signatures of what the server hands out
// and later believes: addresses of files and confirmations of actions.
//
// A signature is an HMAC-SHA-256 over a purpose and a list of parts. It is
// written as the id of its key, a dot and the digest in URL-safe base64.
package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// MinSecret is the least length of a key's secret in bytes.
const MinSecret = 32

// maxID is the greatest length of a key's id.
const maxID = 32

// Key is one secret with the name that signatures carry.
type Key struct {
	// ID is [A-Za-z0-9_-]{1,32}.
	ID string
	// Secret has at least MinSecret bytes.
	Secret []byte
}

// Ring holds the key that signs and those that are still believed. It is safe
// for concurrent use.
type Ring struct{ keys []Key }

// New returns a ring that signs with current and also believes previous, the
// keys of before a rotation.
func New(current Key, previous ...Key) (*Ring, error) {
	r := &Ring{}
	for _, k := range append([]Key{current}, previous...) {
		if err := k.check(); err != nil {
			return nil, err
		}
		if r.find(k.ID) != nil {
			return nil, fmt.Errorf("signing key %q is there twice", k.ID)
		}
		r.keys = append(r.keys, Key{ID: k.ID, Secret: slices.Clone(k.Secret)})
	}
	return r, nil
}

func (k Key) check() error {
	if k.ID == "" || len(k.ID) > maxID || strings.ContainsFunc(k.ID, notID) {
		return fmt.Errorf("signing key id %q is not [A-Za-z0-9_-]{1,%d}", k.ID, maxID)
	}
	if len(k.Secret) < MinSecret {
		return fmt.Errorf("signing key %q has %d bytes; at least %d are needed", k.ID, len(k.Secret), MinSecret)
	}
	return nil
}

func notID(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return false
	}
	return true
}

func (r *Ring) find(id string) *Key {
	for i := range r.keys {
		if r.keys[i].ID == id {
			return &r.keys[i]
		}
	}
	return nil
}

// Sign returns the signature of the parts for one purpose. The same parts
// signed for another purpose, or cut elsewhere, have another signature.
func (r *Ring) Sign(purpose string, parts ...string) string {
	k := &r.keys[0]
	b := make([]byte, 0, len(k.ID)+1+base64.RawURLEncoding.EncodedLen(sha256.Size))
	return string(k.append(b, purpose, parts))
}

// Verify says whether sig is the signature of the parts for this purpose by a
// key of the ring. It takes the same time wherever a wrong one differs.
func (r *Ring) Verify(purpose, sig string, parts ...string) bool {
	id, _, found := strings.Cut(sig, ".")
	if !found {
		return false
	}
	k := r.find(id)
	if k == nil {
		return false
	}
	// What is compared is the written form: several base64 texts decode to the
	// same digest, and only one of them was handed out.
	b := make([]byte, 0, len(k.ID)+1+base64.RawURLEncoding.EncodedLen(sha256.Size))
	return hmac.Equal(k.append(b, purpose, parts), []byte(sig))
}

// append writes the signature. Every part is preceded by its length, so that
// no two lists of parts are the same bytes.
func (k *Key) append(b []byte, purpose string, parts []string) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	var buf [256]byte
	msg := appendPart(buf[:0], purpose)
	for _, p := range parts {
		msg = appendPart(msg, p)
	}
	_, _ = mac.Write(msg) // a hash never fails
	var sum [sha256.Size]byte
	b = append(b, k.ID...)
	b = append(b, '.')
	return base64.RawURLEncoding.AppendEncode(b, mac.Sum(sum[:0]))
}

func appendPart(b []byte, p string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
	return append(b, p...)
}
