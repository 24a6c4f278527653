import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startSandbox } from '../../src/sandbox/http/server.ts'

/** What the sandbox's process tells its parent. */
export interface ServedFeeds {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly submissionIds: readonly string[]
}

/**
 * Starts a sandbox in a process of its own, so that it does not share the measured event loop.
 * @param answerMs how long it takes over each page; 0 answers at once, as nothing but an emulator on the same machine does.
 */
export async function serveFeeds(
  submissions: number,
  events: number,
  answerMs: number,
): Promise<{ feeds: ServedFeeds; stop(): Promise<void> }> {
  const child = fork(import.meta.filename, [String(submissions), String(events), String(answerMs)])
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
  const [submissions = 0, events = 0, answerMs = 0] = process.argv.slice(2).map(Number)
  const sandbox = await startSandbox({
    accounts: [{ name: 'bench', submissions: 0 }],
    autoStart: false,
    faults: answerMs > 0 ? [{ kind: 'slow', ms: answerMs, operation: 'events' }] : 'none',
  })
  const submissionIds: string[] = []
  for (let n = 0; n < submissions; n++) {
    const id = sandbox.addSubmission('bench')
    sandbox.fillFeeds('bench', id, { events, messages: 0 })
    submissionIds.push(id)
  }
  const [credential] = sandbox.account('bench').credentials
  if (!credential) throw new Error('the sandbox gave the account no credential')
  const { clientId, clientSecret } = credential
  process.send?.({ baseUrl: sandbox.baseUrl, clientId, clientSecret, submissionIds } satisfies ServedFeeds)
}
