package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/turn"
)

// Metrics counts what happens, for Prometheus. It implements turn.Observer and
// action.Observer, so that one value serves runner, gateway and server.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	turnsStarted prometheus.Counter
	turnsRunning prometheus.Gauge
	turnsEnded   *prometheus.CounterVec
	turnSeconds  prometheus.Histogram
	modelCalls   *prometheus.CounterVec
	modelSeconds *prometheus.HistogramVec
	modelFirst   *prometheus.HistogramVec
	modelTokens  *prometheus.CounterVec
	toolCalls    *prometheus.CounterVec
	toolSeconds  *prometheus.HistogramVec
	recommended  *prometheus.CounterVec
	cards        *prometheus.CounterVec
	cardFields   *prometheus.CounterVec
	recommending *prometheus.HistogramVec
	actions      *prometheus.CounterVec
	actionTime   *prometheus.HistogramVec
	blockActions *prometheus.CounterVec
	events       prometheus.Counter
	commits      prometheus.Counter
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
}

var (
	_ turn.Observer   = (*Metrics)(nil)
	_ action.Observer = (*Metrics)(nil)
)

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	long := prometheus.ExponentialBuckets(0.05, 2, 14) // 50 ms to 7 min
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "inlay", Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "inlay", Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	times := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "inlay", Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.turnsStarted = counter("turns_started_total", "Turns and follow-ups that began.")
	m.turnsRunning = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "inlay", Name: "turns_running", Help: "Turns and follow-ups that run now."})
	m.registry.MustRegister(m.turnsRunning)
	m.turnsEnded = counters("turns_ended_total", "Turns and follow-ups that ended, by status.", "status")
	m.turnSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "inlay", Name: "turn_duration_seconds", Help: "Length of turns and follow-ups.", Buckets: long})
	m.registry.MustRegister(m.turnSeconds)
	m.modelCalls = counters("model_calls_total", "Model calls, by model and code of failure.", "model", "code")
	m.modelSeconds = times("model_call_duration_seconds", "Length of model calls.", long, "model")
	m.modelFirst = times("model_first_piece_seconds", "Time to the first piece of a model's answer.", long, "model")
	m.modelTokens = counters("model_tokens_total", "Tokens, by model and direction.", "model", "direction")
	m.toolCalls = counters("tool_calls_total", "Tool calls, by tool and status.", "tool", "status")
	m.toolSeconds = times("tool_call_duration_seconds", "Length of tool calls.", long, "tool")
	m.recommended = counters("recommender_total", "Finished answers that the recommender looked at, by what it came to.", "outcome")
	m.recommending = times("recommender_duration_seconds", "Time between the end of an answer's text and what the recommender came to.", prometheus.ExponentialBuckets(0.05, 2, 8), "outcome")
	m.cards = counters("cards_total", "Cards in the text of the model, by block type and what became of them.", "type", "outcome")
	m.cardFields = counters("card_fields_dropped_total", "Fields of cards that the model wrote and only the server may say, by block type.", "type")
	m.actions = counters("actions_total", "Actions that people asked for, by action and what became of it.", "action", "outcome")
	m.actionTime = times("action_duration_seconds", "Time to answer actions.", long, "action")
	m.blockActions = counters("block_actions_total", "Uses of blocks that clients reported, by kind.", "action")
	m.events = counter("events_total", "Events made durable.")
	m.commits = counter("event_commits_total", "Commits that made events durable.")
	m.requests = counters("http_requests_total", "Answered requests, by route and status.", "route", "status")
	m.seconds = times("http_request_duration_seconds", "Time to answer requests; streams until they end.", prometheus.ExponentialBuckets(0.001, 4, 10), "route")
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
	return m
}

// Registry returns where further collectors may be registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// TurnStarted implements turn.Observer.
func (m *Metrics) TurnStarted() {
	m.turnsStarted.Inc()
	m.turnsRunning.Inc()
}

// TurnEnded implements turn.Observer.
func (m *Metrics) TurnEnded(status string, d time.Duration) {
	m.turnsRunning.Dec()
	m.turnsEnded.WithLabelValues(status).Inc()
	m.turnSeconds.Observe(d.Seconds())
}

// ModelCall implements turn.Observer.
func (m *Metrics) ModelCall(name string, d, first time.Duration, u model.Usage, err error) {
	code := ""
	if err != nil {
		code = model.AsError(err).Code
	}
	m.modelCalls.WithLabelValues(name, code).Inc()
	m.modelSeconds.WithLabelValues(name).Observe(d.Seconds())
	if first > 0 {
		m.modelFirst.WithLabelValues(name).Observe(first.Seconds())
	}
	m.modelTokens.WithLabelValues(name, "input").Add(float64(max(u.InputTokens, 0)))
	m.modelTokens.WithLabelValues(name, "output").Add(float64(max(u.OutputTokens, 0)))
}

// ToolCall implements turn.Observer.
func (m *Metrics) ToolCall(name, status string, d time.Duration) {
	m.toolCalls.WithLabelValues(name, status).Inc()
	m.toolSeconds.WithLabelValues(name).Observe(d.Seconds())
}

// Recommended implements turn.Observer.
func (m *Metrics) Recommended(outcome string, d time.Duration) {
	m.recommended.WithLabelValues(outcome).Inc()
	m.recommending.WithLabelValues(outcome).Observe(d.Seconds())
}

// Card implements turn.Observer.
func (m *Metrics) Card(blockType, outcome string, dropped int) {
	m.cards.WithLabelValues(blockType, outcome).Inc()
	m.cardFields.WithLabelValues(blockType).Add(float64(dropped))
}

// Action implements action.Observer.
func (m *Metrics) Action(name, outcome string, d time.Duration) {
	m.actions.WithLabelValues(name, outcome).Inc()
	m.actionTime.WithLabelValues(name).Observe(d.Seconds())
}

// blockAction counts a reported use of a block.
func (m *Metrics) blockAction(kind string) {
	if !telemetryActions[kind] {
		kind = "other"
	}
	m.blockActions.WithLabelValues(kind).Inc()
}

// Events implements turn.Observer.
func (m *Metrics) Events(n int) {
	m.events.Add(float64(n))
	m.commits.Inc()
}

// request counts an answered request.
func (m *Metrics) request(info RequestInfo) {
	m.requests.WithLabelValues(info.Route, strconv.Itoa(info.Status)).Inc()
	m.seconds.WithLabelValues(info.Route).Observe(info.Duration.Seconds())
}

// streams shows the number of open streams.
func (m *Metrics) streams(open func() int) {
	g := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "inlay", Name: "streams_open", Help: "Streams that are open now.",
	}, func() float64 { return float64(open()) })
	// A second server on the same metrics keeps the first one's gauge.
	_ = m.registry.Register(g)
}

func (s *server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	s.Metrics.handler.ServeHTTP(w, r)
	return nil
}
