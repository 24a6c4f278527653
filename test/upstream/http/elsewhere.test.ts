import { gzipSync } from 'node:zlib'
import { errors, MockAgent } from 'undici'
import { describe, expect, it } from 'vitest'
import type { DocumentAnswer } from '../../../src/upstream/http/document.ts'
import { Elsewhere } from '../../../src/upstream/http/elsewhere.ts'

const read = async (answer: DocumentAnswer) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
const never = new AbortController().signal

function scene(...hosts: string[]) {
  const agent = new MockAgent()
  agent.disableNetConnect()
  const asked: Record<string, unknown>[] = []
  const reply = (origin: string, path: string, status: number, body: string | Buffer, headers: Record<string, string> = {}) =>
    agent
      .get(origin)
      .intercept({ path, method: 'GET' })
      .reply((options) => {
        asked.push(options.headers as Record<string, unknown>)
        return { statusCode: status, data: body, responseOptions: { headers } }
      })
  return { elsewhere: new Elsewhere({ hosts, proxy: {}, dispatcher: agent }), agent, reply, asked }
}

describe('documents on other hosts', () => {
  it('trap 45, trap 76: are fetched without a token', async () => {
    const { elsewhere, reply, asked } = scene('docs.example')
    reply('https://docs.example', '/a.pdf', 200, '%PDF-1', { 'content-type': 'application/pdf' })
    expect(await elsewhere.get('https://docs.example/a.pdf', read, never)).toBe('%PDF-1')
    expect(asked.flatMap((headers) => Object.keys(headers))).not.toContain('authorization')
  })

  it('are decoded if compressed against our wish', async () => {
    const { elsewhere, reply } = scene('docs.example')
    const packed = gzipSync('%PDF-1')
    reply('https://docs.example', '/a.pdf', 200, packed, { 'content-encoding': 'gzip', 'content-length': String(packed.length) })
    const whole = async (answer: DocumentAnswer) => [await read(answer), answer.bytes]
    expect(await elsewhere.get('https://docs.example/a.pdf', whole, never)).toEqual(['%PDF-1', null])
    reply('https://docs.example', '/b.pdf', 200, '%PDF-1', { 'content-encoding': 'gzip' })
    await expect(elsewhere.get('https://docs.example/b.pdf', read, never)).rejects.toThrow(
      'docs.example: the answer is not the gzip that its header says (Z_DATA_ERROR)',
    )
  })

  it('a silent host is not blamed on a proxy', async () => {
    const { elsewhere, agent } = scene('docs.example')
    agent.get('https://docs.example').intercept({ path: '/a.pdf', method: 'GET' }).replyWithError(new errors.HeadersTimeoutError())
    await expect(elsewhere.get('https://docs.example/a.pdf', read, never)).rejects.toThrow('docs.example sent no complete answer (timeout)')
  })

  it('a redirect is checked like a link', async () => {
    const { elsewhere, reply } = scene('docs.example', 'files.example')
    reply('https://docs.example', '/a.pdf', 302, '', { location: 'https://files.example/b.pdf' })
    reply('https://files.example', '/b.pdf', 200, 'bytes')
    expect(await elsewhere.get('https://docs.example/a.pdf', read, never)).toBe('bytes')
    reply('https://docs.example', '/c.pdf', 302, '', { location: 'https://other.example/b.pdf' })
    await expect(elsewhere.get('https://docs.example/c.pdf', read, never)).rejects.toThrow('DOCUMENT_HOSTS does not list other.example')
    reply('https://docs.example', '/d.pdf', 302, '', { location: '/d.pdf' }).times(9)
    await expect(elsewhere.get('https://docs.example/d.pdf', read, never)).rejects.toThrow('redirects more than')
  })

  it.each([
    ['http://docs.example/a.pdf', 'only https'],
    ['https://other.example/a.pdf', 'does not list other.example'],
    ['https://docs.example:8443/a.pdf', 'does not list docs.example:8443'],
    ['https://user:secret@docs.example/a.pdf', 'password'],
    ['https://10.0.0.1/a.pdf', 'which is blocked for documents'],
    ['https://169.254.169.254/latest', 'special address'],
    ['ftp://docs.example/a.pdf', 'only https'],
    ['//', 'not a URL'],
  ])('%s is not followed', async (link, why) => {
    const { elsewhere } = scene('docs.example', '10.0.0.1', '169.254.169.254')
    await expect(elsewhere.get(link, read, never)).rejects.toThrow(why)
  })

  it('a name with a private address is refused when connecting', async () => {
    const lookup = (_: string, __: unknown, done: (error: null, all: { address: string; family: number }[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])
    const elsewhere = new Elsewhere({ hosts: ['docs.example'], proxy: {}, lookup })
    await expect(elsewhere.get('https://docs.example/a.pdf', read, never)).rejects.toThrow(
      /resolves to 127\.0\.0\.1, which .* is blocked for documents$/,
    )
    await elsewhere.close()
  })
})
