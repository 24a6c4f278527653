import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { closed, listening, whole } from '../../tools/servers.ts'
import type { Case } from '../desk.ts'

const MINUTES = 600

async function hearing(answer: (reply: ServerResponse) => void) {
  const heard: { id: string; body: string }[] = []
  const arrivals = Promise.withResolvers<void>()
  const server = createServer(
    whole((request, reply, body) => {
      heard.push({ id: String(request.headers['svix-id']), body })
      arrivals.resolve()
      answer(reply)
    }),
  )
  return { url: `http://127.0.0.1:${await listening(server)}/`, heard, first: arrivals.promise, close: () => closed(server) }
}

export const deliveryCases: readonly Case[] = [
  {
    name: 'a message is delivered within about a minute, and any 2xx acknowledges it',
    rows: ['limit.delivery', 'limit.acknowledgement'],
    run: async (desk) => {
      const endpoint = await hearing((reply) => reply.writeHead(202).end('ignored'))
      try {
        const id = await desk.create('Harrow Roofing LLC', { hold: true })
        desk.sandbox.account('default').target = endpoint.url
        await desk.client.submissions.post(id, { body: 'Payroll is $400k.' })
        desk.pass(60)
        await endpoint.first
        await desk.sandbox.deliveries.idle()
        assert.equal(endpoint.heard.length, 1)
        const { type, submission_id } = JSON.parse(endpoint.heard[0]?.body ?? '{}')
        assert.deepEqual([type, submission_id], ['submission.message', id])
        assert.equal((await desk.admin('/deliveries', {}, 'GET')).body.deliveries.at(-1).outcome, 'acknowledged')
      } finally {
        await endpoint.close()
      }
    },
  },
  {
    name: 'a delivery not acknowledged within 10 seconds is sent again with its id',
    rows: ['limit.acknowledgement'],
    run: async (desk) => {
      let given: ServerResponse | undefined
      const endpoint = await hearing((reply) => {
        if (given) reply.writeHead(200).end()
        given ??= reply
      })
      try {
        const id = await desk.create('Harrow Roofing LLC', { hold: true })
        desk.sandbox.account('default').target = endpoint.url
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
        await desk.sandbox.deliveries.idle()
        assert.ok(again())
      } finally {
        await endpoint.close()
      }
    },
  },
]
