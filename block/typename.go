package block

import "strings"

// AppNamespace is the namespace of the types that a product registers for its
// own cards.
const AppNamespace = "app"

// TypeNameOf turns the name a card is written by into its type: "ProductCard"
// is "app.product_card", "acme.ProductCard" is "acme.product_card". A name
// without capitals is a type already.
func TypeNameOf(name string) string {
	if !strings.ContainsFunc(name, isCapital) {
		return ShortName(name)
	}
	namespace, card := AppNamespace, name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace, card = name[:i], name[i+1:]
	}
	var b strings.Builder
	for i := range len(card) {
		c := card[i]
		if !isCapital(rune(c)) {
			b.WriteByte(c)
			continue
		}
		// A word begins after a small letter or digit, and at the last capital
		// of several: HTMLCard is html_card.
		begins := i > 0 && card[i-1] != '_' &&
			(!isCapital(rune(card[i-1])) || i+1 < len(card) && card[i+1] >= 'a' && card[i+1] <= 'z')
		if begins {
			b.WriteByte('_')
		}
		b.WriteByte(c - 'A' + 'a')
	}
	return ShortName(namespace + "." + b.String())
}

func isCapital(r rune) bool { return r >= 'A' && r <= 'Z' }
