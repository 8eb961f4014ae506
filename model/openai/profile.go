package openai

import (
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/internal/nearest"
)

// Profile says how one vendor's endpoint differs from the others. The JSON
// names are the names used in configuration.
type Profile struct {
	// Name is the vendor's short name.
	Name string `json:"name"`
	// MaxTokensParam is the member that limits the answer: max_tokens or
	// max_completion_tokens.
	MaxTokensParam string `json:"max_tokens_param"`
	// ParallelToolCalls sends parallel_tool_calls: true, which some endpoints
	// need before they call several tools at once and others refuse.
	ParallelToolCalls bool `json:"parallel_tool_calls"`
	// StrictSchema marks every function as strict. The schemas of all tools
	// must then be closed and require all of their members.
	StrictSchema bool `json:"strict_schema"`
	// StrictTools marks the functions as strict whose tools ask for it, at
	// endpoints that know the member.
	StrictTools bool `json:"strict_tools"`
	// ToolChoiceRequired is the word for "some tool must be called"; empty
	// when the endpoint has none, then the choice is left to the model.
	ToolChoiceRequired string `json:"tool_choice_required"`
	// ToolChoiceNamed says that the endpoint takes the name of the one tool to
	// be called. Elsewhere "some tool" says the same when there is no other.
	ToolChoiceNamed bool `json:"tool_choice_named"`
	// FixedTemperature is for endpoints whose models refuse any temperature
	// but their own; none is sent.
	FixedTemperature bool `json:"fixed_temperature"`
	// DeveloperRole sends system messages under the role developer.
	DeveloperRole bool `json:"developer_role"`
	// StreamOptions asks for usage with stream_options.include_usage.
	StreamOptions bool `json:"stream_options"`
	// ReasoningEcho says when an assistant message's reasoning is sent back.
	ReasoningEcho ReasoningEcho `json:"reasoning_echo"`
	// ReasoningField is the member that carries it, reasoning_content when
	// empty.
	ReasoningField string `json:"reasoning_field"`
	// TextTools reads tool calls that the endpoint leaves in the text.
	TextTools TextTools `json:"text_tools"`
	// ThinkTags takes <think>…</think> at the very start of the text as
	// reasoning.
	ThinkTags bool `json:"think_tags"`
	// ThinkPrefilled is for chat templates that open the think tag
	// themselves: the text starts inside it.
	ThinkPrefilled bool `json:"think_prefilled"`
	// ToolIDPattern is what the endpoint demands of call ids. Ids that do not
	// match are replaced, the same way everywhere in a request, by nine
	// letters and digits.
	ToolIDPattern string `json:"tool_id_pattern"`
	// EmptyContent is what an assistant message without text has as content.
	EmptyContent EmptyContent `json:"empty_content"`
	// Images sends the images of user messages as image_url parts; a note stands
	// for them otherwise.
	Images bool `json:"images"`
	// SeedParam and UserParam are the members for a request's seed and user;
	// empty ones are not sent.
	SeedParam string `json:"seed_param"`
	UserParam string `json:"user_param"`
	// KeyHeader carries the API key as it is; empty means a bearer token in
	// Authorization.
	KeyHeader string `json:"key_header"`
	// Deployments addresses models as /openai/deployments/NAME below a base
	// URL without path, with APIVersion in the query.
	Deployments bool   `json:"deployments"`
	APIVersion  string `json:"api_version"`
}

// ReasoningEcho says when reasoning is sent back to the endpoint.
type ReasoningEcho string

// The values of ReasoningEcho. An empty one means EchoNever.
const (
	EchoNever ReasoningEcho = "never"
	// EchoInToolTurn sends the reasoning of assistant messages that follow
	// the last user message.
	EchoInToolTurn ReasoningEcho = "in_tool_turn"
	EchoAlways     ReasoningEcho = "always"
)

// TextTools names a spelling of tool calls in text.
type TextTools string

// The spellings of tool calls in text.
const (
	TextToolsOff     TextTools = ""
	TextToolsHermes  TextTools = "hermes"   // <tool_call>{"name":…,"arguments":…}</tool_call>
	TextToolsQwenXML TextTools = "qwen_xml" // <tool_call><function=…><parameter=…>…
)

// EmptyContent is how missing text is written.
type EmptyContent string

// The values of EmptyContent.
const (
	EmptyString EmptyContent = ""
	EmptyNull   EmptyContent = "null"
)

// profiles is the table of vendors, the default first. Think tags and tool
// calls in text depend on the model and its server's settings, not on the
// vendor, so they are off everywhere.
var profiles = []Profile{
	{
		Name: "openai", MaxTokensParam: "max_completion_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true, StrictTools: true,
		StreamOptions: true, EmptyContent: EmptyNull, Images: true, SeedParam: "seed", UserParam: "user",
	},
	{
		Name: "azure", MaxTokensParam: "max_completion_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true, StrictTools: true,
		StreamOptions: true, EmptyContent: EmptyNull, Images: true, SeedParam: "seed", UserParam: "user",
		KeyHeader: "api-key", Deployments: true, APIVersion: "2024-10-21",
	},
	{
		Name: "deepseek", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true,
		StreamOptions: true, ReasoningEcho: EchoInToolTurn,
	},
	{
		Name: "dashscope", MaxTokensParam: "max_tokens", ToolChoiceNamed: true, ParallelToolCalls: true,
		StreamOptions: true, SeedParam: "seed",
	},
	{
		Name: "glm", MaxTokensParam: "max_tokens", ReasoningEcho: EchoInToolTurn,
	},
	{
		Name: "moonshot", MaxTokensParam: "max_tokens", FixedTemperature: true,
		StreamOptions: true, ReasoningEcho: EchoInToolTurn,
	},
	{
		Name: "doubao", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true, StreamOptions: true,
	},
	{
		Name: "mistral", MaxTokensParam: "max_tokens", ToolChoiceRequired: "any", ToolChoiceNamed: true, StrictTools: true,
		ToolIDPattern: "^[A-Za-z0-9]{9}$", Images: true, SeedParam: "random_seed",
	},
	{
		Name: "gemini", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required",
		StreamOptions: true, EmptyContent: EmptyNull, Images: true,
	},
	{
		Name: "openrouter", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true, StrictTools: true,
		StreamOptions: true, ReasoningEcho: EchoInToolTurn, ReasoningField: "reasoning",
		EmptyContent: EmptyNull, Images: true, SeedParam: "seed", UserParam: "user",
	},
	{
		Name: "vllm", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required", ToolChoiceNamed: true, StrictTools: true,
		StreamOptions: true, SeedParam: "seed", UserParam: "user",
	},
	{
		Name: "ollama", MaxTokensParam: "max_tokens", StreamOptions: true, SeedParam: "seed",
	},
	{
		Name: "llamacpp", MaxTokensParam: "max_tokens", ToolChoiceRequired: "required",
		StreamOptions: true, SeedParam: "seed",
	},
}

// ProfileNames lists the known profiles in the order of the table.
func ProfileNames() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	return names
}

// LookupProfile returns the profile of that name; an empty name is the
// default, openai. The error for an unknown name says which one is nearest.
func LookupProfile(name string) (Profile, error) {
	if name == "" {
		return profiles[0], nil
	}
	lower := strings.ToLower(name)
	for _, p := range profiles {
		if p.Name == lower {
			return p, nil
		}
	}
	hint := ""
	if found := nearest.Of(lower, ProfileNames()); found != "" {
		hint = fmt.Sprintf(", did you mean %q?", found)
	}
	return Profile{}, fmt.Errorf("openai: unknown profile %q%s (known: %s)", name, hint, strings.Join(ProfileNames(), ", "))
}
