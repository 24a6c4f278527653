import { z } from 'zod'
import { auditedReload, reloadOthers } from '../actions/reload.ts'
import { MismatchError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { setting, shownSettings } from '../status/settings.ts'
import { pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

const list = operation({
  name: 'settings.list',
  summary: 'list the active settings, without secrets',
  role: 'viewer',
  http: 'GET /settings',
  withoutCommand: 'a command has its own settings',
  input: z.strictObject({}),
  output: pageOf(setting),
  run: async (c) => whole(shownSettings(c.config)),
})

const reload = operation({
  name: 'settings.reload',
  command: 'reload',
  summary: 'reload the settings: secrets, destinations, schedules',
  description:
    'All or nothing: if one setting is wrong, nothing changes (422), and `problems` lists what to fix. The command reloads every `serve` on ' +
    'the database, the HTTP route its own process. A reload reads the settings file and the files named by `_FILE` variables. It does not re-read ' +
    'the environment (`.env`, `compose.yaml`, `EnvironmentFile`); restart instead.',
  role: 'admin',
  http: 'POST /reload',
  input: z.strictObject({}),
  output: record('Reloaded', {
    applied: z.array(z.string()).readonly().describe('changes that are in force now'),
    needs_restart: z.array(z.string()).readonly().describe('settings that changed and apply after a restart'),
    from_environment: z.array(z.string()).readonly().describe('variables that give values; after changing one, restart'),
  }),
  run: async (c) => {
    const result = c.reload === null ? await reloadOthers(c) : await auditedReload(c.db, c.who, c.reload)
    const { applied, needsRestart, fromEnvironment, problems } = result
    if (problems.length > 0) throw new MismatchError(problems)
    return { applied, needs_restart: needsRestart, from_environment: fromEnvironment }
  },
  print: (to, { applied, needs_restart, from_environment }) => {
    for (const each of applied) to.sentence(`Applied: ${each}`)
    if (applied.length === 0) to.line('No setting changed that applies without a restart.')
    if (needs_restart.length > 0) to.sentence(`Restart \`serve\` to apply: ${needs_restart.join(', ')}`)
    if (from_environment.length > 0)
      to.sentence(`Not re-read, because the environment sets them: ${from_environment.join(', ')}. After changing one, restart \`serve\`.`)
  },
})

export const operations = [reload, list]
