package block

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Image is the payload of an image block: a picture by reference.
type Image struct {
	AssetID string `json:"assetId"`
	// Alt says what is to be seen, for those who do not see it.
	Alt     string `json:"alt"`
	Width   int    `json:"width,omitempty"`  // pixels
	Height  int    `json:"height,omitempty"` // pixels
	Caption string `json:"caption,omitempty"`
}

func imageType() Type {
	return Type{
		Name:        "image",
		Version:     1,
		Class:       ClassResource,
		Source:      SourceBuiltin,
		Description: "A picture by reference.",
		Schema:      builtinSchema("image.v1.json"),
		Height:      240,
		Fallback:    imageText,
		Link:        imageLink,
		Markdown:    imageMarkdown,
		Summary:     imageSummary,
	}
}

func imageText(payload json.RawMessage) string {
	var i Image
	if decodePayload(payload, &i) != nil {
		return "[image]"
	}
	return cmp.Or(heading(i.Alt, i.Caption), "[image]")
}

func imageLink(payload json.RawMessage) string {
	var i Image
	if decodePayload(payload, &i) != nil || i.AssetID == "" {
		return ""
	}
	name := cmp.Or(oneLine(i.Alt), oneLine(i.Caption), "image")
	return "[" + markdownText(name) + "](" + contentPath(i.AssetID) + ")"
}

func imageMarkdown(payload json.RawMessage) string {
	s := cmp.Or(imageLink(payload), imageText(payload)) + "\n"
	var i Image
	if decodePayload(payload, &i) == nil && i.Caption != "" && oneLine(i.Alt) != "" {
		s += "\n" + markdownText(i.Caption) + "\n"
	}
	return s
}

func imageSummary(payload json.RawMessage) string {
	var i Image
	if decodePayload(payload, &i) != nil {
		return "[image]"
	}
	s := "image: " + oneLine(i.Alt)
	if i.Caption != "" {
		s += "\ncaption: " + oneLine(i.Caption)
	}
	if i.Width > 0 && i.Height > 0 {
		s += fmt.Sprintf("\npixels: %d × %d", i.Width, i.Height)
	}
	return s
}
