package block

import (
	"embed"
	"encoding/json"
	"io/fs"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// Builtins returns the block types that every installation has.
func Builtins() []Type {
	return []Type{
		textType(), chartType(), tableType(), metricType(), codeType(), queryType(), fileType(), imageType(), cardType(), cardListType(),
		formType(), confirmType(), questionType(), stepsType(), treeType(), echartsType(),
		FeatureRecommendation(),
	}
}

// Schemas returns the JSON Schemas of the built-in types as files named
// "chart.v1.json".
func Schemas() fs.FS {
	sub, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

func builtinSchema(file string) json.RawMessage {
	b, err := schemaFiles.ReadFile("schema/" + file)
	if err != nil {
		panic(err) // the file is embedded above
	}
	return b
}
