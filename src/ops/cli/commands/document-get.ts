import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { openDocument } from '../../actions/documents.ts'
import { actionContextOf, type CommandContext, withStore } from './context.ts'

interface GetOptions {
  readonly account?: string
  readonly out?: string
}

/** `document get`, beside the operations of `document` */
export function addDocumentGet(document: Command, c: CommandContext): void {
  document
    .command('get')
    .description('take the file of a document; who took it is noted')
    .argument('<key>', 'its document_key')
    .option('--account <name>', 'of this account')
    .option('--out <file>', 'write it to this file, which must not exist; otherwise to standard output')
    .action((key: string, options: GetOptions) => get(c, key, options))
}

async function get(c: CommandContext, key: string, { account, out }: GetOptions): Promise<void> {
  const problems = out === undefined && c.host.stdout.isTTY ? ['a file is nothing for a terminal: name one with --out'] : []
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    const { host } = c
    const { bytes } = await openDocument(actionContextOf(c, db), createDocumentStorage(config), key, account)
    if (out === undefined) {
      for await (const chunk of bytes) host.stdout.write(chunk as Uint8Array)
      return
    }
    const file = createWriteStream(out, { flags: 'wx', mode: 0o600 })
    await pipeline(bytes, file, { signal: host.signal }).catch(async (error: unknown) => {
      if (isThere(error)) throw new UsageError([`${out} exists already; name another file`])
      await rm(out, { force: true })
      throw error
    })
  })
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
