import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { launchBrowser } from '../console/browser.ts'
import { world } from '../sandbox/writer.ts'
import { closedAtEnd } from '../tools/servers.ts'

/** The client bundled for browsers. */
async function bundled() {
  const bundle = await rolldown({ input: `${import.meta.dirname}/../../src/client/exports.ts`, platform: 'browser', external: /^node:/ })
  const { output } = await bundle.generate({ format: 'iife', name: 'mirror', codeSplitting: false })
  await bundle.close()
  return output[0]
}

it('the client runs in a browser', async () => {
  const { code, imports } = await bundled()
  expect(imports).toEqual([])
  const { sandbox, writer } = await world()
  const browser = await closedAtEnd(launchBrowser())
  // The sandbox's page allows only its own scripts.
  const page = await browser.newPage({ bypassCSP: true })
  await page.goto(sandbox.origin)
  await page.evaluate(code.replace(/^var /m, 'globalThis.'))
  const made = await page.evaluate(
    async ([baseUrl = '', clientId = '', clientSecret = '', producerEmail = '']) => {
      const { createClient, clientCredentials } = (globalThis as unknown as { mirror: typeof import('../../src/client/exports.ts') }).mirror
      const client = createClient({ baseUrl, auth: clientCredentials({ clientId, clientSecret }), producerEmail })
      const { submission_id = '' } = await client.submissions.create({
        applicant: { insured_name: 'Harrow Roofing LLC' },
        narrative: 'Roofs',
      })
      const { id } = await client.submissions.upload(submission_id, { file: new TextEncoder().encode('%PDF-1.7\nloss runs\n%%EOF\n') })
      for await (const event of client.submissions.allEvents(submission_id)) if (!event.id) throw new Error('an event without an id')
      return { submission_id, id }
    },
    [
      sandbox.baseUrl,
      sandbox.account('default').credentials[0]?.clientId,
      sandbox.account('default').credentials[0]?.clientSecret,
      writer.producer,
    ],
  )
  const { body } = await writer.get(`/broker/submissions/${made.submission_id}/requirements`)
  expect(body).toMatchObject({ submission_id: made.submission_id })
  expect(made.id).toMatch(/^[0-9a-f-]{36}$/)
})
