import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import type { CommandContext } from './context.ts'

/** Settings that name a real service: an emulator started among them is a mistake. */
const PRODUCTION = /^(BROKER_API_.+|WEBHOOK_SECRETS(_FILE)?|CONFIG_FILE)$/

/** `sandbox [options]` */
export function addSandbox(program: Command, c: CommandContext): void {
  program
    .command('sandbox')
    .description('run an emulator of the service, with believable submissions, signed deliveries, and faults if wanted')
    .option('--host <host>', 'where to listen')
    .option('--port <port>', 'where to listen; 0 is any free port (default: 8090)')
    .option('--target <url>', 'where signed deliveries are posted; none are sent without it')
    .option('--seed <text>', 'everything made up follows from it')
    .option('--accounts <n>', 'brokerages')
    .option('--submissions <n>', 'submissions of each')
    .option('--speed <n>', 'how many times as fast as written the story of five minutes is told')
    .option('--faults <faults>', 'none, all, or a JSON list of faults')
    .option('--events-payload <layout>', 'how submission.events deliveries are laid out: events, data, single, ids-only, opaque')
    .option('--signature-headers <prefix>', 'svix or webhook')
    .option('--lists', 'submissions and insureds are listed, which the service does not describe')
    .option('--paused', 'the story waits for POST /_sandbox/story')
    .action(async (options: Record<string, unknown>) => {
      const named = Object.keys(c.host.env).filter((name) => PRODUCTION.test(name) && c.host.env[name])
      if (named.length > 0) {
        throw new UsageError([
          `the sandbox does not start where a real service is configured (${named.join(', ')}); unset that, or run it elsewhere`,
        ])
      }
      await c.parts.sandbox(options)
    })
}
