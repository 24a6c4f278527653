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

/** Creates a file. @throws UsageError when it is there already, or cannot be created. */
async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    const known = codeOf(error) === 'EEXIST'
    throw new UsageError([known ? `${path} exists already; name another file` : `${path} cannot be written (${messageOf(error)})`])
  }
}
