import { build } from "vite";

/** The minified code of a module with all that it imports. */
export async function bundle(entry: string): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: "oxc",
      target: "es2022",
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { minify: true } },
    },
  });
  const outputs = Array.isArray(result) ? result : [result];
  for (const output of outputs) {
    if (!("output" in output)) continue;
    for (const chunk of output.output) if (chunk.type === "chunk") return chunk.code;
  }
  throw new Error("nothing was built");
}
