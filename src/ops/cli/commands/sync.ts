import type { Command } from 'commander'
import type { Observer } from '../../../base/observer.ts'
import type { Config } from '../../../config/config.ts'
import { parseUuid } from '../../../model/uuid.ts'
import { Sync } from '../../../poll/sync.ts'
import type { FailedRead } from '../../../poll/sync-options.ts'
import type { Db } from '../../../store/engine/db.ts'
import { auditAction } from '../../../store/operators/actions.ts'
import { submissionIdsAfter } from '../../../store/reads/account-reads.ts'
import { ensureAccounts } from '../../../store/reads/accounts.ts'
import { accessOf } from '../../../upstream/account-client.ts'
import { idsForAudit } from '../../actions/context.ts'
import { accountNamed, refuseUntracked } from '../../actions/names.ts'
import { pluralize, printableLine } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { withAccountClient } from './account-client.ts'
import { type CommandContext, type OpenStore, withStore } from './context.ts'

const PAGE = 100

/** Adds the command `sync ID…|--all [--account A]`. */
export function addSync(program: Command, c: CommandContext): void {
  program
    .command('sync')
    .description('read submissions from the service now: feeds, state, related ids, extra reads')
    .argument('[ids...]', 'ids of tracked submissions')
    .option('--all', 'every tracked submission of the account')
    .option('--account <name>', 'account of the submissions (default: the default account)')
    .action(async (given: string[], options: { all?: boolean; account?: string }) => {
      const problems: string[] = []
      const ids = given.flatMap((text) => parseUuid(text) ?? notAnId(text, problems))
      if (given.length === 0 && !options.all) problems.push('sync: give submission ids, or --all')
      if (given.length > 0 && options.all) problems.push('sync: give submission ids or --all, not both')
      const check = (config: Config) => accountNamed(config, options.account, '--account')
      await withStore(c, { accounts: 'needed', prepare: false, problems, check }, async (store) => {
        const account = accountNamed(store.config, options.account, '--account').name
        await ensureAccounts(store.db, [account])
        await refuseUntracked(store.db.read, account, ids)
        const note = { who: 'command', action: 'submission.sync', target: account, detail: options.all ? { all: true } : idsForAudit(ids) }
        await auditAction(store.db, note, async () => {
          const unread = await syncNow(c, store, account, {
            pages: options.all ? allOf(store.db, account) : pagesOf(ids),
            all: options.all === true,
          })
          return { detail: { unread }, failed: unread > 0 }
        })
      })
    })
}

function notAnId(text: string, problems: string[]): [] {
  problems.push(`${JSON.stringify(text)} is not a submission id (a uuid)`)
  return []
}

async function* pagesOf(ids: readonly string[]): AsyncGenerator<string[]> {
  const distinct = [...new Set(ids)]
  for (let from = 0; from < distinct.length; from += PAGE) yield distinct.slice(from, from + PAGE)
}

async function* allOf(db: Db, account: string): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const ids = await submissionIdsAfter(db.read, account, after, PAGE)
    const last = ids.at(-1)
    if (last === undefined) return
    yield ids
    after = last
  }
}

async function syncNow(
  c: CommandContext,
  store: OpenStore,
  account: string,
  { pages, all }: { readonly pages: AsyncIterable<string[]>; readonly all: boolean },
): Promise<number> {
  const { config, db, log } = store
  const { clock, host } = c
  let changes = 0
  const observer: Observer = {
    count: (name, _labels, by = 1) => {
      if (name === 'applied_rows_total') changes += by
    },
    time() {},
    set() {},
  }
  return await withAccountClient(c, store, { role: 'sync', account, observer }, async (client) => {
    const settings = config.accounts.find(({ name }) => name === account)
    const { extraReads } = settings ?? {}
    const access = settings && accessOf(settings)
    const common = { account, access, db, client, clock, log, observer, policy: config, recordFields: config.recordFields, extraReads }
    const sync = new Sync({ ...common, concurrency: config.upstream.concurrency })
    let submissions = 0
    let unread = 0
    const report = (failed: readonly FailedRead[]) => {
      unread += failed.length
      for (const each of failed) host.stderr.write(`${sentence(each)}\n`)
    }
    for await (const ids of pages) {
      report(await sync.read(ids, host.signal))
      submissions += ids.length
    }
    if (all) report(await sync.readOthers(host.signal))
    host.stdout.write(
      `${pluralize(submissions, 'submission')} read in account ${account}: ${pluralize(changes, 'change')}, ${pluralize(unread, 'read')} failed\n`,
    )
    if (unread > 0) c.exitCode = exitCodes.failed
    return unread
  })
}

/** @returns one sentence about a failed read. The sentence names the read once, even if `reason` names it too. */
function sentence({ submissionId, read, reason }: FailedRead): string {
  const about = submissionId === '' ? read : `${read} of submission ${submissionId}`
  return printableLine(`${about} could not be read: ${reason.replace(`${about}: `, '')}`, 500)
}
