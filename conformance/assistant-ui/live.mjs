// Drives a server, as it is built and started with nothing configured, with
// assistant-ui as a page would mount it: its AI SDK adapter, whose client needs
// Node 22, and its AG-UI adapter.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { start } from '../binary.mjs'

test('assistant-ui on Node 22', async () => {
  const server = await start()
  const here = fileURLToPath(new URL('.', import.meta.url))
  // The runner of this process would take over that of the other one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const ran = await promisify(execFile)(`${here}node_modules/node/bin/node`, ['--test', '--test-reporter=tap', 'drive.mjs'], {
    cwd: here, env: { ...env, INLAY_BASE: server.base }, maxBuffer: 1 << 26,
  }).catch(e => e)
  await server.stop()
  assert.equal(ran.code ?? 0, 0, ran.stdout + ran.stderr)
  assert.match(ran.stdout, /^# pass [1-9]/m)
  assert.match(ran.stdout, /^# skipped 0$/m)
})
