package demo

import "github.com/inlay-ui/inlay/block"

// Allow is what answers of the demonstration may lead to: the gallery of block
// types, the command that shows sales, the page's two sample dialogs and the
// offices whose data it shows (data/SOURCES.md). Every product has others, so
// these are not the defaults of any.
func Allow() block.Destinations {
	return block.Destinations{
		Routes: []string{"/gallery"},
		Slash:  []string{"sales"},
		Modals: []string{"deposit", "withdraw"},
		Hosts:  []string{"www.bls.gov", "data.gov"},
	}
}
