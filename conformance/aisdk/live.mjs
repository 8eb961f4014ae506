// Drives a server, as it is built and started with nothing configured, with the
// published client: majors 5 and 6 here, 7 with the Node that it needs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import { start } from '../binary.mjs'
import { live } from './live-suite.mjs'

const server = await start()
after(() => server.stop())

live(ai5, 5, server.base)
live(ai6, 6, server.base)

test('ai 7 on Node 22', async () => {
  const path = file => fileURLToPath(new URL(file, import.meta.url))
  // The runner of this process would take over that of the other one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const ran = await promisify(execFile)(path('v7/node_modules/node/bin/node'), ['--test', '--test-reporter=tap', 'live.mjs'], {
    cwd: path('v7'), env: { ...env, INLAY_BASE: server.base }, maxBuffer: 1 << 26,
  }).catch(e => e)
  assert.equal(ran.code ?? 0, 0, ran.stdout + ran.stderr)
  assert.match(ran.stdout, /^# pass [1-9]/m)
  assert.match(ran.stdout, /^# skipped 0$/m)
})
