import { UsageError } from '../../../base/errors.ts'
import type { AccountConfig, Config } from '../../../config/config.ts'
import { parseSubmissionId } from '../../actions/arguments.ts'
import { type ConformanceFinding, compareService } from '../../doctor/conformance/conformance.ts'
import { markOf } from '../../doctor/finding.ts'
import { pluralize, wrapped } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { accountOf, type CommandContext, printJson, settingsOf, silentLog, widthOf } from './context.ts'

export interface ConformanceFlags {
  readonly account?: string
  readonly submission?: string
  readonly json?: boolean
}

/** `doctor --conformance [--account A] [--submission ID] [--json]` */
export async function runConformance(c: CommandContext, options: ConformanceFlags): Promise<void> {
  const problems: string[] = []
  const submission = parseSubmissionId(options.submission, '--submission', problems) ?? null
  const wanted = (config: Config) => accountsOf(config, options)
  const config = settingsOf(c, { accounts: 'needed', problems, check: wanted })
  const found: ConformanceFinding[] = []
  for (const account of wanted(config)) {
    if (!options.json) c.host.stdout.write(wrapped(`Conformance of account ${account.name}, by reading ${account.baseUrl}`, widthOf(c)))
    for await (const finding of compareService({ config, clock: c.clock, log: silentLog(), host: c.host }, { account, submission })) {
      found.push(finding)
      if (finding.fails) c.exitCode = exitCodes.failed
      if (!options.json) c.host.stdout.write(wrapped(lineOf(finding), widthOf(c), '', '  '))
    }
  }
  if (options.json) return printJson(c, found)
  const counted = (result: ConformanceFinding['result']) => found.filter((each) => each.result === result).length
  const told = found.filter(({ row }) => row !== null).length
  c.host.stdout.write(
    `\n${pluralize(told, 'row')}: ${counted('agrees')} agree, ${counted('differs')} differ, ${counted('untold')} could not be told\n`,
  )
}

/** @returns the account that is named, or all. A submission belongs to one account. @throws UsageError */
function accountsOf(config: Config, { account, submission }: ConformanceFlags): readonly AccountConfig[] {
  if (account !== undefined || submission !== undefined) return [accountOf(config, account)]
  if (config.accounts.length === 0) throw new UsageError(['there is no account to compare'])
  return config.accounts
}

function lineOf(finding: ConformanceFinding): string {
  const { row, spec, result, text, more, about } = finding
  const mark = markOf(finding)
  if (row === null) return `${mark} ${about}: ${text}`
  const beyond =
    more.length === 0 ? '' : `; more than the specification names: ${more.slice(0, 5).join(', ')}${more.length > 5 ? ' …' : ''}`
  return `${mark} ${row} (${spec}): ${result === 'untold' ? 'could not be told: ' : ''}${text}${beyond}`
}
