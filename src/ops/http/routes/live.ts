import { events } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { refuse } from '../api/refusing.ts'
import type { Sessions } from '../api/sessions.ts'
import { LiveHub, MOST_LISTENERS } from '../live/hub.ts'

const RETRY_AFTER_S = 15

const schema = {
  summary: 'of which kinds something changed, as it happens: server-sent events',
  description:
    'Events `delivery`, `change`, `push`, `run`, `alarm` and `overview` say that something of the kind changed, and nothing more: ask for what ' +
    'you show of it again. `reset` comes first, and says that anything may have changed. ' +
    `${MOST_LISTENERS} may listen to a process (503 then); who does not read is cut off. It ends with the token or session.`,
  tags: ['status'],
  response: events('a stream that does not end by itself'),
}

/** `GET /live` */
export function addLive(api: Api, p: AdminParts, sessions: Sessions): void {
  const { db, config, log, signal } = p
  const hub = new LiveHub({ db, config, log, signal })
  sessions.onEnd(() => void hub.check())
  // What Fastify would answer to HEAD never ends.
  api.get('/live', { schema, config: { role: 'viewer' }, exposeHeadRoute: false }, async (request, reply) => {
    const tooMany = () =>
      refuse(reply.header('retry-after', RETRY_AFTER_S), 503, [`${MOST_LISTENERS} listen already; close a page, or ask again later`])
    if (hub.isFull) return tooMany()
    const { raw } = reply
    const sink = {
      begin: () => {
        reply.hijack()
        if (raw.destroyed) return false
        const type = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
        raw.writeHead(200, { ...headersOf(reply.getHeaders()), ...type })
        return true
      },
      write: (text: string) => {
        if (!raw.destroyed) raw.write(text)
      },
      get writableLength() {
        return raw.writableLength
      },
      end: () => void raw.end(),
      destroy: () => void raw.destroy(),
    }
    const leave = await hub.listen(sink, request.isStillAllowed)
    if (leave === null) return tooMany()
    raw.on('close', leave)
    return reply
  })
}

function headersOf(headers: Readonly<Record<string, number | string | string[] | undefined>>): Record<string, number | string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, number | string | string[]] => entry[1] !== undefined),
  )
}
