// An AMS on Node's own HTTP server that answers 204 to each request. Prints `listening PORT`. Commands, one per line: `reset
// nothing|times|bodies` forgets all messages and selects what to record. `wait N` prints `received N` after N messages. `times` prints a
// list of [message number, milliseconds since the epoch]. `save FILE` writes the bodies, one per line.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

let keep = 'nothing'
let received = 0
let wanted = Number.POSITIVE_INFINITY
let times: [number, number][] = []
let bodies: string[] = []

function hear(body: Buffer): void {
  received++
  if (keep === 'times') times.push([numberOf(body), performance.timeOrigin + performance.now()])
  if (keep === 'bodies') bodies.push(body.toString())
  if (received === wanted) console.log(`received ${received}`)
}

function numberOf(body: Buffer): number {
  const { data } = JSON.parse(body.toString()) as { data: { after: { message_id: string } } }
  return Number(data.after.message_id.slice(-12))
}

const server = createServer((request, answer) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    hear(Buffer.concat(chunks))
    answer.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log(`listening ${(server.address() as { port: number }).port}`)
})
for await (const line of createInterface({ input: process.stdin })) {
  const [command = '', argument = ''] = line.split(' ')
  if (command === 'reset') {
    keep = argument
    received = 0
    wanted = Number.POSITIVE_INFINITY
    times = []
    bodies = []
    console.log('ready')
  } else if (command === 'wait') {
    wanted = Number(argument)
    if (received >= wanted) console.log(`received ${received}`)
  } else if (command === 'times') console.log(`times ${JSON.stringify(times)}`)
  else if (command === 'save') {
    writeFileSync(argument, bodies.join('\n'))
    console.log('saved')
  }
}
