import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Case } from '../desk.ts'

/** More than enough for a retry to come. */
const MINUTES = 600

/** Hears deliveries and answers each as `answer` does. */
async function hearing(answer: (reply: ServerResponse) => void) {
  const heard: { id: string; body: string }[] = []
  const arrivals = Promise.withResolvers<void>()
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    heard.push({ id: String(request.headers['svix-id']), body: Buffer.concat(chunks).toString() })
    arrivals.resolve()
    answer(reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard, first: arrivals.promise, close }
}

export const deliveryCases: readonly Case[] = [
  {
    name: 'a message is delivered within about a minute of becoming visible, and is acknowledged by any 2xx',
    rows: ['limit.delivery', 'limit.acknowledgement'],
    run: async (desk) => {
      const endpoint = await hearing((reply) => reply.writeHead(202).end('ignored'))
      try {
        const id = await desk.create('Harrow Roofing LLC', { hold: true })
        desk.sandbox.setTarget('default', endpoint.url)
        await desk.client.submissions.post(id, { body: 'Payroll is $400k.' })
        desk.pass(60)
        await endpoint.first
        await desk.sandbox.deliveriesSettled()
        assert.equal(endpoint.heard.length, 1)
        const { type, submission_id } = JSON.parse(endpoint.heard[0]?.body ?? '{}')
        assert.deepEqual([type, submission_id], ['submission.message', id])
        assert.equal((await desk.admin('/deliveries', {}, 'GET')).body.deliveries.at(-1).outcome, 'acknowledged')
      } finally {
        endpoint.close()
      }
    },
  },
  {
    name: 'a delivery that is not acknowledged within 10 seconds is sent again under its id',
    rows: ['limit.acknowledgement'],
    run: async (desk) => {
      let given: ServerResponse | undefined
      const endpoint = await hearing((reply) => {
        if (given) reply.writeHead(200).end()
        given ??= reply
      })
      try {
        const id = await desk.create('Harrow Roofing LLC', { hold: true })
        desk.sandbox.setTarget('default', endpoint.url)
        await desk.client.submissions.post(id, { body: 'Payroll is $400k.' })
        desk.pass(60)
        await endpoint.first
        assert.ok(given)
        await once(given, 'close')
        const again = () => endpoint.heard.filter((one) => one.id === endpoint.heard[0]?.id).length > 1
        for (let minutes = 0; minutes < MINUTES && !again(); minutes++) {
          await setImmediate()
          desk.pass(60)
        }
        await desk.sandbox.deliveriesSettled()
        assert.ok(again())
      } finally {
        endpoint.close()
      }
    },
  },
]
