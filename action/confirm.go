package action

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Signer makes and checks signatures; *signing.Ring is one.
type Signer interface {
	Sign(purpose string, parts ...string) string
	Verify(purpose, sig string, parts ...string) bool
}

const confirmPurpose = "confirm"

// maxToken bounds what is looked at.
const maxToken = 1 << 10

// token is the readable part of a confirmation.
type token struct {
	Nonce string `json:"n"`
	// Expires is in epoch milliseconds.
	Expires int64 `json:"e"`
}

// Why a confirmation is asked for.
const (
	confirmMissing  = "missing"
	confirmExpired  = "expired"
	confirmUsed     = "used"
	confirmMismatch = "mismatch"
)

// parts are what a confirmation is bound to: who, where, what and on which
// state of the block. The same values confirmed for something else are another
// token.
func (c *check) parts(t token) []string {
	r := c.req
	return []string{
		r.Owner.Tenant, r.Owner.User, r.Msg, r.Block, r.Action, c.reg.Name, string(r.Payload), strconv.Itoa(c.state.Rev),
		t.Nonce, strconv.FormatInt(t.Expires, 10),
	}
}

// newToken makes a confirmation that the next request may carry.
func (g *Gateway) newToken(c *check) (string, time.Time) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	until := g.cfg.Now().Add(g.cfg.Limits.Confirm)
	t := token{Nonce: base64.RawURLEncoding.EncodeToString(nonce[:]), Expires: until.UnixMilli()}
	body, err := json.Marshal(t)
	if err != nil { // a string and a number always encode
		panic("action: encode token: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(body) + "." + g.cfg.Signer.Sign(confirmPurpose, c.parts(t)...), until
}

// confirmed checks the confirmation of a request; reason says what is wrong.
func (g *Gateway) confirmed(c *check) (t token, reason string) {
	given := c.req.ConfirmToken
	if given == "" {
		return t, confirmMissing
	}
	body, sig, ok := strings.Cut(given, ".")
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || len(given) > maxToken || err != nil || json.Unmarshal(raw, &t) != nil || !g.cfg.Signer.Verify(confirmPurpose, sig, c.parts(t)...) {
		return token{}, confirmMismatch
	}
	if !g.cfg.Now().Before(time.UnixMilli(t.Expires)) {
		return token{}, confirmExpired
	}
	return t, ""
}

// confirm asks for a confirmation.
func (g *Gateway) confirm(c *check, reason string) *Error {
	tok, until := g.newToken(c)
	return &Error{
		Code: CodeConfirm, Message: "Please confirm.",
		Details: map[string]any{
			"confirmToken": tok, "expiresAt": until.UnixMilli(), "text": c.reg.Confirm.Text.For(c.req.Caller.Lang), "reason": reason,
		},
	}
}
