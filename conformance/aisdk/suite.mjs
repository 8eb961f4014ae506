// The golden streams of wire/aisdk through one major of the published client.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { stands } from '../recorded.mjs'

const golden = new URL('../../wire/aisdk/testdata/golden/', import.meta.url)
const files = new Set(readdirSync(golden))
const text = name => readFileSync(new URL(name, golden), 'utf8')
const logs = [...files].filter(f => f.endsWith('.fold.json')).map(f => f.slice(0, -'.fold.json'.length)).sort()

/** The events of a log. */
const events = log => {
  for (const dir of ['../../testdata/logs/', '../../wire/aisdk/testdata/logs/']) {
    const path = new URL(`${dir}${log}.jsonl`, import.meta.url)
    if (existsSync(path)) return readFileSync(path, 'utf8').trim().split('\n').map(line => JSON.parse(line))
  }
  throw new Error(`no log ${log}`)
}

/** What each reader of the golden streams declared and sees. */
const readers = {
  v5: { since: 5, draws: () => true, activity: true, thoughts: true },
  v6: { since: 6, draws: () => true, activity: true, thoughts: true },
  v7: { since: 7, draws: () => true, activity: true, thoughts: true },
  v7parts: { since: 7, draws: () => true, parts: true, thoughts: true },
  text: { since: 5, draws: () => false, supported: [] },
  charts: { since: 5, draws: b => b.type === 'chart' && b.version === 1, activity: true, supported: ['inlay.chart@1'] },
}

const plain = value => JSON.parse(JSON.stringify(value))

/** The text that stands for a file: where it is. */
function link({ type, payload }) {
  const at = name => `[${name}](/v1/assets/${payload.assetId}/content)`
  if (type === 'file') return `${at(payload.name)} (${payload.size} B)`
  if (type === 'image') return at(payload.alt)
}

/** The parts of the message that the blocks of a fold are. */
function blockParts(fold, reader) {
  const parts = []
  const at = new Map() // block id → its part
  const said = new Map() // block id → its last text
  for (const { blocks } of fold.groups) {
    for (const block of blocks) {
      if (block.type === 'confirm' && reader.since >= 6) continue // a tool part
      if (block.type !== 'text' && reader.draws(block)) {
        const part = { type: `data-${block.type}`, id: block.id, data: block }
        if (at.has(block.id)) parts[at.get(block.id)] = part
        else at.set(block.id, parts.push(part) - 1)
        continue
      }
      const words = block.type === 'text' ? block.payload : link(block) ?? stands(block)
      if (said.get(block.id) === words) continue
      said.set(block.id, words)
      parts.push({ type: 'text', text: words, state: 'done' })
    }
  }
  return parts
}

/** The tool parts of the message: what the client runs, what it is asked about. */
function toolParts(log, fold, reader) {
  const parts = []
  const find = id => parts.findLast(p => p.toolCallId === id)
  for (const { event, blockId, data } of events(log)) {
    if (event === 'client_tool_call') parts.push({ type: `tool-${data.name}`, toolCallId: data.toolCallId, state: 'input-available', input: data.arguments })
    if (event === 'tool_call_start' && reader.parts && !data.client && !find(data.toolCallId))
      parts.push({ type: `tool-${data.name}`, toolCallId: data.toolCallId, state: 'input-available', input: {}, providerExecuted: true })
    if (event === 'block_end' && data.type === 'confirm' && reader.since >= 6)
      parts.push({
        type: `tool-${data.meta.tool}`, toolCallId: data.meta.toolCallId, state: 'approval-requested', input: data.payload.args,
        providerExecuted: true, approval: { id: blockId }, title: data.payload.prompt,
      })
    const asked = event === 'block_state' && parts.find(p => p.approval?.id === blockId)
    if (asked) {
      const approved = data.state.status === 'answered' && data.state.answer !== 'reject'
      if (reader.since >= 7) asked.approval.approved = approved
      asked.state = approved ? 'approved' : 'output-denied'
    }
    const ran = event === 'tool_call_end' && find(data.toolCallId)
    if (ran) {
      if (data.status === 'ok') Object.assign(ran, { state: 'output-available', output: { status: 'ok' } })
      else Object.assign(ran, { state: 'output-error', errorText: data.status === 'error' ? 'The tool failed.' : 'The tool was not run to its end.' })
    }
  }
  if (fold.status !== 'paused')
    for (const p of parts)
      if (p.state === 'approved' || p.state === 'input-available') Object.assign(p, { state: 'output-error', errorText: 'The tool was not run to its end.' })
  return parts
}

/** What a tool part is compared by. */
const call = ({ type, toolCallId, state, input, output, errorText, providerExecuted, title, approval }) =>
  plain({ type, toolCallId, state, input, output, errorText, providerExecuted, approval: approval && { id: approval.id, approved: approval.approved }, title: approval && title })

function metadata(fold, reader) {
  const { conversationId, ts, userMessageId, model } = fold.start
  const out = { conversationId, createdAt: ts, userMessageId, model, status: fold.status }
  if (reader.supported) out.supportedBlocks = reader.supported
  if (fold.status === 'error') out.error = fold.error
  else Object.assign(out, { finishReason: fold.finishReason, usage: fold.usage })
  return out
}

const words = { stop: 'stop', length: 'length', content_filter: 'content-filter', max_steps: 'tool-calls', cancelled: 'other', paused: 'other' }

function finishReason(fold, name) {
  if (fold.status === 'error') return undefined
  if (fold.status === 'paused' && toolParts(fold.log, fold, readers[name]).some(p => p.state === 'approval-requested' || p.state === 'input-available')) return 'tool-calls'
  if (name.startsWith('v7') && (fold.finishReason === 'cancelled' || fold.finishReason === 'paused')) return 'interrupted'
  return words[fold.finishReason]
}

/** Holds the client's message against the fold. */
function same(message, fold, reader) {
  const log = fold.log
  const got = plain(message)
  assert.equal(got.id, fold.message)
  assert.equal(got.role, 'assistant')
  assert.deepEqual(got.metadata, metadata(fold, reader))
  assert.deepEqual(got.parts[0], { type: 'step-start' })
  const thought = got.parts.filter(p => p.type === 'reasoning')
  for (const p of thought) assert.equal(p.state, 'done')
  assert.equal(thought.map(p => p.text).join(''), reader.thoughts ? (fold.reasoning ?? '') : '')
  const activity = got.parts.filter(p => p.type === 'data-tool-activity')
  assert.deepEqual(activity, reader.activity ? (fold.tools ?? []).filter(t => !t.client).map(data => ({ type: 'data-tool-activity', id: data.id, data })) : [])
  const tools = toolParts(log, fold, reader)
  assert.deepEqual(got.parts.filter(p => p.type.startsWith('tool-')).map(call), tools.map(call))
  // One step more each time that the client has run what it was asked to.
  const steps = got.parts.filter(p => p.type === 'step-start').length
  assert.equal(steps, 1 + stepsOf(log), 'steps')
  const sources = events(log).filter(e => e.event === 'annotation' && /^https?:/.test(e.data.url ?? ''))
  assert.deepEqual(
    got.parts.filter(p => p.type === 'source-url').map(p => p.url),
    sources.filter(e => reader.draws({ type: 'image', version: 1 }) || e.blockId.endsWith('1')).map(e => e.data.url),
  )
  assert.equal(got.parts.filter(p => p.type === 'file').length, log === 'sources-and-files' && reader.supported ? 2 : 0)
  assert.deepEqual(
    got.parts.filter(p => p.type === 'text' || p.type.startsWith('data-') && p.type !== 'data-tool-activity'),
    blockParts(fold, reader),
  )
}

/** How often the client has run all that it was asked to. */
function stepsOf(log) {
  const open = new Set()
  let steps = 0
  for (const { event, data } of events(log)) {
    if (event === 'client_tool_call') open.add(data.toolCallId)
    if (event === 'tool_call_end' && open.delete(data.toolCallId) && open.size === 0) steps++
  }
  return steps
}

/** Cuts a body into pieces of the sizes given by next. */
function pieces(body, next) {
  return body.pipeThrough(
    new TransformStream({
      transform(chunk, out) {
        for (let i = 0; i < chunk.length; ) {
          const end = i + next()
          out.enqueue(chunk.slice(i, end))
          i = end
        }
      },
    }),
  )
}

/** Sizes from 1 to most that are the same each time. */
function sizes(most = 40) {
  let seed = 1
  return () => {
    seed = (seed * 16807) % 2147483647
    return 1 + (seed % most)
  }
}

const user = { id: 'u_1', role: 'user', parts: [{ type: 'text', text: 'Sales by region?' }] }

export function suite(ai, major) {
  describe(`ai ${major}`, () => {
    let server
    let origin
    /** What the server answers to a path: a stream, or the first frames of it. */
    const bodies = new Map()
    const asked = []
    const complaints = []
    const loud = { warn: console.warn, error: console.error }

    before(async () => {
      for (const level of ['warn', 'error']) console[level] = (...args) => complaints.push(args.join(' '))
      server = createServer(async (request, response) => {
        let posted = ''
        for await (const chunk of request) posted += chunk
        asked.push({ method: request.method, url: request.url, body: posted && JSON.parse(posted) })
        const [, name, ...rest] = request.url.split('/')
        const { stream, cut, how } = bodies.get(decodeURIComponent(name))
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          'cache-control': 'no-cache',
          'x-vercel-ai-ui-message-stream': 'v1',
        })
        response.flushHeaders()
        if (cut === undefined || rest.at(-1) === 'stream') return response.end(stream)
        const head = stream.split(/(?<=\n\n)/).slice(0, cut).join('')
        if (how === 'end') return response.end(head)
        response.write(head, () => setTimeout(() => response.destroy(), 2))
      })
      await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
      origin = `http://127.0.0.1:${server.address().port}`
    })

    after(async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      Object.assign(console, loud)
      assert.deepEqual(complaints, [], 'the client warned')
    })

    let names = 0
    function transport(body, split) {
      const name = `s${names++}`
      bodies.set(name, body)
      return new ai.DefaultChatTransport({
        api: `${origin}/${name}/chat`,
        ...(split && {
          fetch: async (input, init) => {
            const response = await fetch(input, init)
            return new Response(pieces(response.body, split), response)
          },
        }),
      })
    }

    /** Reads a stream to its end with the client. */
    async function read(stream, split) {
      const errors = []
      let message
      const chunks = await transport({ stream }, split).sendMessages({
        trigger: 'submit-message', chatId: 'c_1', messageId: undefined, messages: [user], abortSignal: undefined,
      })
      for await (const state of ai.readUIMessageStream({ stream: chunks, onError: error => errors.push(error) })) {
        message = state
        const keys = state.parts.filter(p => p.id !== undefined).map(p => `${p.type} ${p.id}`)
        assert.equal(new Set(keys).size, keys.length, `parts are there twice: ${keys}`)
      }
      return { message, errors }
    }

    /** Reads a stream that must be without fault, and holds it against the fold. */
    async function faultless(stream, fold, reader, split) {
      const { message, errors } = await read(stream, split)
      assert.deepEqual(errors.map(e => e.message), fold.status === 'error' ? [fold.error.message] : [])
      same(message, fold, reader)
    }

    class State {
      status = 'ready'
      error = undefined
      messages
      constructor(messages) {
        this.messages = messages
      }
      pushMessage = m => { this.messages = [...this.messages, m] }
      popMessage = () => { this.messages = this.messages.slice(0, -1) }
      replaceMessage = (i, m) => { this.messages = this.messages.with(i, structuredClone(m)) }
      snapshot = structuredClone
    }

    function chat(body, messages = [], automatic = true) {
      const seen = { data: [], errors: [], finished: [] }
      const c = new ai.AbstractChat({
        id: 'c_1',
        transport: transport(body),
        state: new State(messages),
        onData: part => seen.data.push(part),
        onError: error => seen.errors.push(error.message),
        onFinish: end => seen.finished.push(end),
        sendAutomaticallyWhen: automatic ? ai.lastAssistantMessageIsCompleteWithToolCalls : undefined,
      })
      return Object.assign(c, { seen })
    }

    const cases = logs.flatMap(log => {
      const fold = { ...JSON.parse(text(`${log}.fold.json`)), log }
      return Object.entries(readers)
        .filter(([name, r]) => r.since <= major && files.has(`${log}.${name}.txt`))
        .map(([name, reader]) => ({ log, name, reader, fold, stream: text(`${log}.${name}.txt`) }))
    })

    test('there are streams to read', () => {
      assert.ok(logs.length >= 30 && cases.length >= 3 * logs.length, `${logs.length} logs, ${cases.length} streams`)
    })

    test('every stream ends with one terminal chunk and [DONE]', () => {
      for (const { log, name, stream } of cases) {
        const data = [...stream.matchAll(/^data: (.*)$/gm)].map(m => m[1])
        assert.equal(data.pop(), '[DONE]', `${log} ${name}`)
        const types = data.map(d => JSON.parse(d).type)
        assert.match(types.pop(), /^(finish|error)$/, `${log} ${name}`)
        assert.ok(!types.includes('finish') && !types.includes('error'), `${log} ${name}`)
      }
    })

    test('the message is what the log folds to', async () => {
      for (const { log, name, reader, fold, stream } of cases) {
        await faultless(stream, fold, reader).catch(e => { throw new Error(`${log} as ${name}`, { cause: e }) })
      }
    })

    test('however the bytes are split', async () => {
      for (const { log, name, reader, fold, stream } of cases.filter(c => c.name === `v${Math.min(major, 6)}` || c.name === 'text')) {
        const splits = name === 'v5' && stream.length < 4000 ? [() => 1, sizes()] : [sizes(stream.length > 20_000 ? 2000 : 40)]
        for (const split of splits) {
          await faultless(stream, fold, reader, split).catch(e => { throw new Error(`${log} as ${name}`, { cause: e }) })
        }
      }
    })

    test('a chat ends ready, or with the error of the log', async () => {
      for (const { log, name, reader, fold, stream } of cases) {
        const c = chat({ stream })
        await c.sendMessage({ text: 'Sales by region?' })
        const failed = fold.status === 'error'
        assert.equal(c.status, failed ? 'error' : 'ready', `${log} as ${name}`)
        assert.deepEqual(c.seen.errors, failed ? [fold.error.message] : [], `${log} as ${name}`)
        assert.equal(c.messages.length, 2, `${log} as ${name}`)
        assert.equal(c.seen.finished.length, 1, `${log} as ${name}: sent again by itself`)
        assert.equal(c.seen.finished[0].finishReason, finishReason(fold, name), `${log} as ${name}`)
        same(c.messages[1], fold, reader)
        if (log === 'table-that-grows-large' && name === 'v5') {
          const told = c.seen.data.filter(p => p.type === 'data-block-progress')
          assert.ok(told.length > 0 && told.every(p => p.data.bytes > 0))
        }
      }
    })

    test('cut after any frame and resumed by a whole replay', async () => {
      let cuts = 0
      for (const { log, reader, fold, stream } of cases.filter(c => c.name === 'v5')) {
        const frames = stream.split(/(?<=\n\n)/).length
        const step = Math.ceil(frames / 20)
        for (let cut = 0; cut < frames; cut += step) {
          // A broken connection is an error to the client; a clean end is none,
          // which is why every stream of ours has a terminal chunk.
          const how = cuts++ % 2 ? 'end' : 'destroy'
          const c = chat({ stream, cut, how }, [], false) // half a message is sent by no server of ours
          await c.sendMessage({ text: 'Sales by region?' })
          if (cut < frames - 1) { // the last two are the terminal chunk and [DONE]
            assert.equal(c.seen.finished[0].finishReason, undefined, `${log}: cut after ${cut} of ${frames}`)
          }
          await c.resumeStream()
          assert.equal(c.messages.length, 2, `${log}: ${how} after ${cut} of ${frames}`)
          same(c.messages[1], fold, reader)
          assert.equal(asked.at(-1).method, 'GET')
          assert.match(asked.at(-1).url, /\/chat\/c_1\/stream$/)
        }
      }
      assert.ok(cuts > 200, `${cuts} cuts`)
    })

    test('a page that is loaded anew reads the whole stream', async () => {
      for (const { reader, fold, stream } of cases) {
        const c = chat({ stream }, [user])
        await c.resumeStream()
        assert.equal(c.messages.length, 2)
        same(c.messages[1], fold, reader)
      }
    })

    test('a follow-up goes into the message that is there', async () => {
      const fold = { ...JSON.parse(text('retry-after-done.fold.json')), log: 'retry-after-done' }
      const stored = { id: fold.message, role: 'assistant', metadata: metadata(fold, readers.v5) }
      stored.parts = [{ type: 'step-start' }, ...blockParts({ groups: fold.groups.slice(0, 1) }, readers.v5)]
      const c = chat({ stream: text('retry-after-done.follow.txt') }, [user, stored])
      await c.sendMessage(undefined, { body: { retryBlock: fold.groups[0].blocks[0].id } })
      assert.equal(c.status, 'ready')
      assert.equal(c.messages.length, 2)
      same(c.messages[1], fold, readers.v5)
    })

    describe('negative controls', () => {
      const log = 'chart-between-texts'
      const stream = text(`${log}.v5.txt`)
      const fold = { ...JSON.parse(text(`${log}.fold.json`)), log }
      const broken = {
        'an unknown chunk': stream.replace('data: {"type":"finish-step"}', 'data: {"type":"ui_block","block":{}}\n\n$&'),
        'a null where a member may be absent': stream.replace('"finishReason":"stop","messageMetadata"', '"finishReason":null,"messageMetadata"'),
        'a finish reason of another vocabulary': stream.replace('"finishReason":"stop","messageMetadata"', '"finishReason":"content_filter","messageMetadata"'),
        'a delta of a part that has not begun': stream.replace(/data: \{"type":"text-start".*\n\n/, ''),
        'the error chunk for one block': stream.replace('data: {"type":"finish-step"}', 'data: {"type":"error","errorText":"One block."}\n\n$&'),
        'another word': stream.replace('East leads.', 'East lags.'),
        'another number in a payload': stream.replaceAll('"sales":320', '"sales":321'),
        'a part that is missing': stream.replaceAll(/data: \{"type":"data-chart".*\n/g, ''),
        'a part that does not end': stream.replaceAll(/data: \{"type":"text-end".*\n/g, ''),
      }
      for (const [name, bad] of Object.entries(broken)) {
        test(name, async () => {
          assert.notEqual(bad, stream)
          await assert.rejects(faultless(bad, fold, readers.v5))
        })
      }

      test('no terminal chunk', async () => {
        const c = chat({ stream: stream.replace(/data: \{"type":"finish",.*\n\n/, '') })
        await c.sendMessage({ text: 'Sales by region?' })
        assert.equal(c.seen.finished[0].finishReason, undefined)
        assert.notEqual(finishReason(fold, 'v5'), undefined)
      })
    })
  })
}
