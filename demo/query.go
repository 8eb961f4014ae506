package demo

import (
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/action/declared"
)

// Queries are the sources of the demonstration that statements may be proposed
// for: the request log of this very server.
func (d *Demo) Queries() []declared.Query {
	return []declared.Query{{
		Source: "requests",
		SQL:    d.logs,
		Description: "The view requests(time, method, route, status, ms) has one row for every request that this server answered in the last 24 hours. " +
			"time is text such as 2026-11-30T10:17:33.120Z; compare it with :from and :to.",
		MaxRange:     24 * time.Hour,
		DefaultRange: 30 * time.Minute,
		Open:         "https://www.example.com/sample-log-search?from={{.args.from}}&to={{.args.to}}&query={{.args.statement}}",
		Label:        action.Words{"": "Request log of this server", "zh": "本服务器的请求日志"},
	}}
}
