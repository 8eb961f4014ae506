// Checks the types of the files that it is given, in the directory web/ that it
// runs in, and of no others: what they import is trusted.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const ts = createRequire(resolve("package.json"))("typescript");
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (d) => { throw new Error(String(d.messageText)); } };
const { options } = ts.getParsedCommandLineOfConfigFile("tsconfig.json", {}, host);
const names = process.argv.slice(2);
const program = ts.createProgram(names, options);
const found = names.flatMap((name) => {
  const file = program.getSourceFile(name);
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
});
process.stdout.write(ts.formatDiagnostics(found, { ...host, getCanonicalFileName: (name) => name, getNewLine: () => "\n", getCurrentDirectory: () => process.cwd() }));
process.exitCode = found.length > 0 ? 1 : 0;
