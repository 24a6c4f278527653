import { type FileHandle, open, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { codeOf, messageOf, UsageError } from '../../../base/errors.ts'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { openDocument } from '../../actions/documents.ts'
import { actionContextOf, type CommandContext, withStore } from './context.ts'

interface GetOptions {
  readonly account?: string
  readonly out?: string
}

/** `document get`, in addition to the operations of `document` */
export function addDocumentGet(document: Command, c: CommandContext): void {
  document
    .command('get')
    .description('download the file of a document; the audit trail records it')
    .argument('<key>', 'its document_key')
    .option('--account <name>', 'account of the document')
    .option('--out <file>', 'write to this new file (default: standard output)')
    .action((key: string, options: GetOptions) => get(c, key, options))
}

async function get(c: CommandContext, key: string, { account, out }: GetOptions): Promise<void> {
  const problems = out === undefined && c.host.stdout.isTTY ? ['refusing to write binary data to the terminal; use --out FILE'] : []
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    const { host } = c
    const opened = () => openDocument(actionContextOf(c, db), createDocumentStorage(config), key, account)
    if (out === undefined) {
      for await (const chunk of (await opened()).bytes) host.stdout.write(chunk as Uint8Array)
      return
    }
    const file = await newFile(out)
    try {
      await pipeline((await opened()).bytes, file.createWriteStream(), { signal: host.signal })
    } catch (error) {
      await file.close()
      await rm(out, { force: true })
      throw error
    }
  })
}

/** @throws UsageError if the file exists, or can't be created. */
async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    const known = codeOf(error) === 'EEXIST'
    throw new UsageError([known ? `${path} already exists; choose another file` : `${path} cannot be written (${messageOf(error)})`])
  }
}
