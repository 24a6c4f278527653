import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newFolder } from '../tools/new-folder.ts'

const root = resolve(import.meta.dirname, '../..')

/** Code that uses the types of all calls and bodies. */
const uses = `
import type { BindRequest, BindRequestBody, CheckpointCommand, Client, CreateBody, MarketEvent, PostBody, QuoteProductsBody } from 'submission-mirror/client'
import type { RequirementsView, ThreadMessage, Workspace } from 'submission-mirror/client'

export async function others(client: Client, id: string, pdf: Blob): Promise<[BindRequest, MarketEvent[], ThreadMessage[], Workspace, RequirementsView]> {
  const producerEmail = 'ben@brokerage.example'
  const body: CreateBody = { applicant: { insured_name: 'Harrow Roofing LLC' }, narrative: 'Roofing', producer_email: producerEmail }
  const reply: PostBody = { body: 'Go on.' }
  const bind: BindRequestBody = { quote_id: id }
  const command: CheckpointCommand = { operation_id: 'a', expected_answer_revision: 1, expected_schema_fingerprint: 'b' }
  const products: QuoteProductsBody = { program_ids: [id], selected_ids: [], expected_revision: 1, producer_email: producerEmail }
  await client.submissions.create(body)
  await client.submissions.post(id, reply)
  await client.submissions.checkpoint(id, id, command)
  await client.submissions.quoteProducts(id, products)
  await client.submissions.finalize(id, { producerEmail })
  await client.submissions.answer(id, [], { producerEmail })
  await client.submissions.upload(id, { file: pdf, producerEmail })
  await client.submissions.formFill(id, {}, { producerEmail })
  await client.bind.upload(id, id, id, { file: pdf, producerEmail })
  const { events } = await client.submissions.events(id)
  const { messages } = await client.submissions.thread(id)
  return [await client.bind.create(id, bind), events, messages, await client.submissions.workspace(id), await client.submissions.requirements(id)]
}
`

test("the README's example and further uses of the types compile under strict", async () => {
  const readme = await readFile(join(root, 'src/client/README.md'), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(readme)?.[1]
  expect(example).toContain('createClient')
  const folder = newFolder()
  const compilerOptions = {
    paths: { 'submission-mirror/client': [join(root, 'src/client/exports.ts')] },
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, files: ['example.mts', 'uses.mts'], include: [], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await writeFile(join(folder, 'example.mts'), example ?? '')
  await writeFile(join(folder, 'uses.mts'), uses)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const failure = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch((error: { stdout: string }) => error)
  expect(failure.stdout).toBe('')
})
