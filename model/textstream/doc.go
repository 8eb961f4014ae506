// Package textstream is a model that is any HTTP endpoint which streams text: a
// back end that passes on what a language model of its own writes, or what it
// has written itself.
//
// It owns the request, which a template makes, and the finding of the text in
// what is answered: server-sent events whose data is text, or JSON that holds
// it, a plain text, or one JSON document.
//
// It never calls a tool and is never told of any. It must not look into the
// text: what in it is a card is for others to find. It must never try again: a
// request may have had its effects.
package textstream
