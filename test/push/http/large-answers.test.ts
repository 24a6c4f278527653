import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { startChild } from '../../tools/child.ts'
import { serve } from './support.ts'

/** Memory of the container, which README.md promises to suffice. */
const CONTAINER_KB = 512 * 1024

it.each([
  ['many times longer than their limit', Buffer.alloc(400 * 2 ** 20)],
  ['nearly as long as the longest', Buffer.from(JSON.stringify({ id: 'x', text: 'é'.repeat(2 ** 21 - 100) }))],
])('compressed answers that come together, %s, leave memory in the container', async (_, plain) => {
  const body = gzipSync(plain)
  const waiting: ServerResponse[] = []
  const target = await serve((_, response) => {
    if (waiting.push(response) < 64) return
    for (const each of waiting.splice(0)) each.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
  })
  const program = startChild('push/http/children/large-answers.ts', [target.baseUrl])
  onTestFinished(() => program.kill())
  expect(Number(await program.says('peak '))).toBeLessThan(CONTAINER_KB)
})
