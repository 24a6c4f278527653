import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startSandbox } from '../../src/sandbox/http/server.ts'

export interface ServedFeeds {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly submissionIds: readonly string[]
}

export interface Served {
  readonly bare?: number
  readonly whole?: number
  readonly events: number
  readonly messages?: number
  readonly answerMs: number
}

const HISTORY_MS = 86_400_000

/** Starts a sandbox in its own process, apart from the measured event loop. */
export async function serveFeeds(served: Served): Promise<{ feeds: ServedFeeds; stop(): Promise<void> }> {
  const child = fork(import.meta.filename, [JSON.stringify(served)])
  const [feeds] = (await once(child, 'message')) as [ServedFeeds]
  return {
    feeds,
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}

if (process.argv[1] === import.meta.filename) {
  const { bare = 0, whole = 0, events, messages = 0, answerMs } = JSON.parse(process.argv[2] ?? '') as Served
  // History for a first fill: the last hour would count as new.
  const endMs = whole > 0 ? Date.now() - HISTORY_MS : undefined
  const sandbox = await startSandbox({
    ...(endMs === undefined ? {} : { startMs: endMs }),
    accounts: [{ name: 'bench', submissions: whole }],
    autoStart: false,
    faults: answerMs > 0 ? [{ kind: 'slow', ms: answerMs }] : 'none',
  })
  for (let n = 0; n < bare; n++) sandbox.addSubmission('bench')
  const submissionIds = sandbox.submissionIds('bench')
  for (const id of submissionIds) sandbox.fillFeeds('bench', id, { events, messages }, endMs)
  const [credential] = sandbox.account('bench').credentials
  if (!credential) throw new Error('the sandbox gave the account no credential')
  const { clientId, clientSecret } = credential
  process.send?.({ baseUrl: sandbox.baseUrl, clientId, clientSecret, submissionIds } satisfies ServedFeeds)
}
