// The runtimes of assistant-ui, mounted in a page and driven as its components
// drive them.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { JSDOM } from 'jsdom'

const dom = new JSDOM('<!doctype html>', { url: 'http://localhost/', pretendToBeVisual: true })
globalThis.window = dom.window
for (const name of ['document', 'HTMLElement', 'Element', 'Node', 'MutationObserver', 'getComputedStyle', 'requestAnimationFrame', 'cancelAnimationFrame'])
  globalThis[name] ??= dom.window[name]

const { createElement, useEffect } = await import('react')
const { createRoot } = await import('react-dom/client')
const { AssistantRuntimeProvider } = await import('@assistant-ui/react')
const { AssistantChatTransport, useChatRuntime } = await import('@assistant-ui/react-ai-sdk')
const { useAgUiRuntime } = await import('@assistant-ui/react-ag-ui')
const { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } = await import('ai')
const { HttpAgent } = await import('@ag-ui/client')

const base = process.env.INLAY_BASE
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
const complaints = []
for (const level of ['warn', 'error']) console[level] = (...args) => complaints.push(args.map(String).join(' '))

const capabilities = (await (await fetch(`${base}/v1/blocks`)).json()).blocks.map(b => `${b.type.includes('.') ? b.type : `inlay.${b.type}`}@${b.version}`).join(',')

const roots = []
/** Mounts a runtime as an application does. */
function mount(useRuntime) {
  return new Promise(resolve => {
    const at = document.body.appendChild(document.createElement('div'))
    function App() {
      const runtime = useRuntime()
      useEffect(() => resolve(runtime), [])
      return createElement(AssistantRuntimeProvider, { runtime })
    }
    const root = createRoot(at)
    roots.push(root)
    root.render(createElement(App))
  })
}

/** Waits until a condition holds. */
async function until(what, holds) {
  for (const end = Date.now() + 60_000; Date.now() < end; await pause(20)) if (holds()) return
  assert.fail(`waited for ${what}`)
}

/** Says something and waits for the end of the answer. */
async function ask(runtime, text) {
  const before = runtime.thread.getState().messages.length
  runtime.thread.append({ role: 'user', content: [{ type: 'text', text }] })
  await answered(runtime, before + 2)
  return last(runtime)
}

async function answered(runtime, length) {
  await until('the answer', () => {
    const { isRunning, messages } = runtime.thread.getState()
    return !isRunning && messages.length >= length && messages.at(-1).role === 'assistant' && messages.at(-1).status.type !== 'running'
  })
  await pause(50)
}

const last = runtime => runtime.thread.getState().messages.at(-1)
const words = message => (message?.content ?? []).filter(p => p.type === 'text').map(p => p.text).join('\n')
const record = async id => (await fetch(`${base}/v1/messages/${id}`)).json()

after(() => {
  for (const root of roots) root.unmount()
  assert.deepEqual(complaints, [], 'the client warned')
  setTimeout(() => process.exit(process.exitCode ?? 0), 100).unref()
})

describe('the AI SDK adapter', { concurrency: 6 }, () => {
  const runtimeOf = (headers = {}) => {
    const requests = []
    const transport = new AssistantChatTransport({
      api: `${base}/v1/ai-sdk/chat`,
      headers,
      fetch: async (input, init) => {
        const url = new URL(input)
        url.searchParams.set('aisdk', '7')
        requests.push({ path: url.pathname, body: init?.body && JSON.parse(init.body) })
        return fetch(url, init)
      },
    })
    const sendAutomaticallyWhen = all => lastAssistantMessageIsCompleteWithApprovalResponses(all) || lastAssistantMessageIsCompleteWithToolCalls(all)
    return mount(() => useChatRuntime({ transport, sendAutomaticallyWhen })).then(runtime => Object.assign(runtime, { requests }))
  }

  test('blocks that nobody declared are text', async () => {
    const runtime = await runtimeOf()
    const message = await ask(runtime, 'Show 2026Q3 sales by region')
    const stored = await record(message.id)
    assert.ok(words(message).includes(stored.blocks.find(b => b.type === 'chart').fallback))
    assert.deepEqual(message.content.map(p => p.type).filter(t => t !== 'data'), ['text', 'text', 'text'])
  })

  test('declared blocks are data parts, in their place', async () => {
    const runtime = await runtimeOf({ 'x-blocks': capabilities })
    const message = await ask(runtime, 'Show 2026Q3 sales by region')
    const stored = await record(message.id)
    assert.deepEqual(
      message.content.filter(p => p.name !== 'tool-activity').map(p => (p.type === 'text' ? p.text : [p.name, p.data])),
      stored.blocks.map(b => (b.type === 'text' ? b.payload : [b.type, b])),
    )
  })

  test('two questions, an edit and another answer', async () => {
    const runtime = await runtimeOf()
    const first = await ask(runtime, 'Show 2026Q3 sales by region')
    const second = await ask(runtime, 'How do I deposit?')
    assert.equal((await record(second.id)).conversationId, (await record(first.id)).conversationId)
    const { messages } = runtime.thread.getState()
    const composer = runtime.thread.getMessageById(messages[2].id).composer
    composer.beginEdit()
    composer.setText('Show me the SQL')
    composer.send()
    await until('the edit', () => /SELECT/.test(words(last(runtime))))
    await answered(runtime, 4)
    assert.equal(runtime.thread.getState().messages.length, 4)
    const edited = last(runtime)
    runtime.thread.getMessageById(edited.id).reload()
    await until('another answer', () => last(runtime).id !== edited.id && !runtime.thread.getState().isRunning && last(runtime).role === 'assistant')
    const again = await record(last(runtime).id)
    assert.deepEqual(again.siblings.length, 2)
    // The server's path is what is shown.
    const path = (await (await fetch(`${base}/v1/conversations/${again.conversationId}/messages`)).json()).items
    assert.equal(path.length, 4)
    assert.equal(path[2].blocks[0].payload, 'Show me the SQL')
    assert.equal(path[1].id, first.id)
  })

  test('an approval is asked for and refused', async () => {
    const runtime = await runtimeOf()
    const message = await ask(runtime, 'Approve an expense')
    assert.equal(message.status.reason, 'interrupt')
    const at = message.content.findIndex(p => p.type === 'tool-call')
    const call = message.content[at]
    assert.equal(call.toolName, 'approve_expense')
    assert.match(call.args.number, /^E-\d+$/)
    await runtime.thread.getMessageById(message.id).getMessagePartByIndex(at).respondToToolApproval({ approved: false, reason: 'Too much.' })
    await until('the rest of the answer', () => last(runtime).status?.type === 'complete' && /rejected/.test(words(last(runtime))))
    const stored = await record(message.id)
    assert.equal(stored.status, 'done')
    assert.equal(stored.blocks.find(b => b.id === call.approval.id).state.answer, 'reject')
  })

  test('a tool of the page is run, and the answer goes on', async () => {
    const runtime = await runtimeOf()
    let runs = 0
    const unregister = runtime.registerModelContextProvider({
      getModelContext: () => ({
        system: 'The page shows sales.',
        tools: {
          read_selection: {
            type: 'frontend', description: 'What is selected on the page.', parameters: { type: 'object', properties: {} },
            execute: async () => (runs++, 'selected: East'),
          },
        },
      }),
    })
    runtime.thread.append({ role: 'user', content: [{ type: 'text', text: 'What have I selected?' }] })
    await until('the rest of the answer', () => /You have selected East/.test(words(last(runtime))) && !runtime.thread.getState().isRunning)
    unregister()
    assert.equal(runs, 1)
    assert.equal(runtime.requests[0].body.system, 'The page shows sales.')
    assert.ok(runtime.requests[0].body.tools.read_selection)
    assert.equal((await record(last(runtime).id)).status, 'done')
    await pause(200)
    assert.equal(runtime.requests.length, 2, 'it sent again by itself')
  })

  test('what the server refuses is the end of the message', async () => {
    const runtime = await runtimeOf({ 'content-type': 'text/plain' })
    runtime.thread.append({ role: 'user', content: [{ type: 'text', text: 'Hello' }] })
    await until('the end', () => !runtime.thread.getState().isRunning && runtime.requests.length > 0)
    assert.equal(runtime.thread.getState().messages.filter(m => m.role === 'assistant' && words(m) !== '').length, 0)
  })
})

describe('the AG-UI adapter', { concurrency: 6 }, () => {
  const runtimeOf = (headers = {}) => {
    const agent = new HttpAgent({ url: `${base}/v1/ag-ui`, headers })
    return mount(() => useAgUiRuntime({ agent }))
  }
  /** All words that the thread shows. */
  const said = runtime => runtime.thread.getState().messages.filter(m => m.role === 'assistant').map(words).join('\n')

  test('an answer, and a second in the same thread', async () => {
    const runtime = await runtimeOf()
    await ask(runtime, 'Show 2026Q3 sales by region')
    assert.match(said(runtime), /East.* leads with 320/)
    await ask(runtime, 'How do I deposit?')
    assert.equal(runtime.thread.getState().isRunning, false)
    assert.equal(last(runtime).status.type, 'complete')
    assert.match(said(runtime), /deposit/i)
  })

  test('a question whether a tool may run', async () => {
    const runtime = await runtimeOf()
    const message = await ask(runtime, 'Approve an expense')
    assert.equal(message.status.reason, 'interrupt')
    const [interrupt] = runtime.unstable_getPendingInterrupts()
    assert.ok(interrupt.id)
    await runtime.unstable_submitInterruptResponses([{ interruptId: interrupt.id, status: 'cancelled' }])
    await until('the rest of the answer', () => !runtime.thread.getState().isRunning && runtime.unstable_getPendingInterrupts().length === 0)
    assert.equal(last(runtime).status.type, 'complete')
  })
})

describe('negative controls', () => {
  test('an answer that is another one', async () => {
    const runtime = await mount(() => useChatRuntime({
      transport: new AssistantChatTransport({
        api: `${base}/v1/ai-sdk/chat`,
        fetch: async (input, init) => {
          const response = await fetch(input, init)
          return new Response((await response.text()).replaceAll('320', '321'), response)
        },
      }),
    }))
    const message = await ask(runtime, 'Show 2026Q3 sales by region')
    const stored = await record(message.id)
    assert.throws(() => assert.ok(words(message).includes(stored.blocks.find(b => b.type === 'chart').fallback)))
  })
})
