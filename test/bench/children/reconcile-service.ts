// A minimal service on Node's own HTTP server, with the same prepared history for every submission. Prints `listening PORT`. Arguments:
// events per submission, milliseconds per answer.
import { createServer } from 'node:http'
import { uuid, wireEvent, wireLane, wireMessage, wireRequirements } from '../../tools/observations.ts'

const [events = 0, answerMs = 0] = process.argv.slice(2).map(Number)
const PLACE = uuid(9, 0)
const feed = JSON.stringify({ events: Array.from({ length: events }, (_, n) => wireEvent(n)), next_cursor: null })
const thread = JSON.stringify({ messages: Array.from({ length: 4 }, (_, n) => wireMessage(n)), next_cursor: null })
const [before = '', after = ''] = JSON.stringify(
  wireRequirements(
    PLACE,
    [0, 1, 2].map((n) => wireLane(n)),
  ),
).split(PLACE)
const identity = JSON.stringify({
  kind: 'api_client',
  client_id: 'bac_bench',
  label: 'bench',
  scope: 'broker_mcp',
  brokerage: 'bench',
  active_states: null,
})
const token = JSON.stringify({ access_token: 'bench', token_type: 'bearer', expires_in: 3600 })

const server = createServer((request, answer) => {
  const url = request.url ?? ''
  const [, id = '', read = ''] = /\/submissions\/([0-9a-f-]{36})\/(\w+)/.exec(url) ?? []
  const body = read === 'events' ? feed : read === 'thread' ? thread : read === 'requirements' ? `${before}${id}${after}` : null
  const say = () => {
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.end(body ?? (url.endsWith('/oauth/token') ? token : identity))
  }
  request.resume()
  if (answerMs === 0) say()
  else setTimeout(say, answerMs)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  console.log(`listening ${(server.address() as { port: number }).port}`)
})
