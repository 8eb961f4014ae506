package agui

import "github.com/inlay-ui/inlay/agent"

// NewReader makes the reader of one run.
func NewReader(req agent.Request) agent.Reader { return newReader(req) }
