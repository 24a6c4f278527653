import type { Command } from 'commander'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { openDocument } from '../../actions/documents.ts'
import { actionContextOf, type CommandContext, withStore, writeNewFile } from './context.ts'

interface GetOptions {
  readonly account?: string
  readonly out?: string
}

/** Adds `document get`. The other commands of `document` are operations. */
export function addDocumentGet(document: Command, c: CommandContext): void {
  document
    .command('get')
    .description('download the file of a document; the audit trail records it')
    .argument('<key>', 'document_key from `document list`')
    .option('--account <name>', 'account of the document')
    .option('--out <file>', 'write to this new file (default: standard output)')
    .action((key: string, options: GetOptions) => get(c, key, options))
}

async function get(c: CommandContext, key: string, { account, out }: GetOptions): Promise<void> {
  const problems = out === undefined && c.host.stdout.isTTY ? ['refusing to write binary data to the terminal; use --out FILE'] : []
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    const opened = async () => (await openDocument(actionContextOf(c, db), createDocumentStorage(config), key, account)).bytes
    if (out !== undefined) return await writeNewFile(c, out, opened)
    for await (const chunk of await opened()) c.host.stdout.write(chunk as Uint8Array)
  })
}
