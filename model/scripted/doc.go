// Package scripted is the demo and test model. It is not an AI: it answers
// from scripts, says so, and takes every figure in its prose from a tool's
// result.
//
// It owns the scenarios, the engine that plays them, and two ways in: Model
// for use in the process, and an http.Handler that speaks the
// OpenAI-compatible wire. Both play the same plan. The same messages and seed
// give the same bytes: ids are hashes, nothing looks at a clock, and the seed
// moves nothing but the places where the answer is cut into pieces.
//
// It imports package model only, and no other implementation of it.
//
// # Scenarios
//
// One YAML file is one scenario; files whose name begins with an underscore
// hold variables for all of them.
//
//	order: 10                      # place in the list of questions
//	questions:                     # the first of each language is listed
//	  en: [Show the Q3 sales by region]
//	  zh: [Q3 各区域销售怎么样]
//	listed: [show_sales_chart]     # and only where these tools are offered
//	when:
//	  match: {en: '(?i)sales by region', zh: '各区域.*销售'}
//	  not: '(?i)summary'           # unless this matches too
//	  system: 'sales team'         # only with such a system prompt
//	  tools: [show_sales_chart]    # tools, or tool.argument, it cannot do without
//	  attached: true               # or: any question with a file
//	  forced: recommend            # only where this tool must be called
//	turns:                         # the first entry that fits is played
//	  - turn: 1                    # first model call after the question; 0 = any
//	    do:
//	      - say: {en: One moment., zh: 请稍候。}
//	      - call: {tool: show_sales_chart, args: {quarter: '{{.Var "quarter"}}'}}
//	  - turn: 2
//	    if: ok                     # what the tools answered: ok, error or its code
//	    has: title                 # a fact that the result must have
//	    do:
//	      - say: {en: ['{{.R.s.maxLabel}} leads with {{.R.s.max}}.'], zh: [...]}
//
// Steps are say, think, call, fence, placeholder, tag, wait and fail. Text is
// a template of package text/template; a list of texts makes one paragraph.
// A text that asks for a fact which the tool's result does not have is left
// out. The facts of the first good result are in .R (see facts.go), those of
// all results in .Results, an error in .Error; .Var reads a variable from the
// conversation, .Offers asks whether there is a tool or a tool.argument,
// .Attached and .Pictures tell of files that came with the question. An
// argument that a template leaves empty is left out, in lists and objects too;
// !number and !bool before it make it no text. .I counts the rounds of a say
// with times.
//
// The language is that of the last question that is no command. In a request
// about an answer, "The user asked:" with the question and "The assistant
// answered:" with the answer, each between two lines that fence it, the
// question is what stands between the first fences. A request that must be
// answered by a call of one tool finds the scenarios that name it as forced;
// where there are none it is answered as any other.
package scripted
