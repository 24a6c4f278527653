import { z } from 'zod'
import { auditedReload } from '../actions/reload.ts'
import { ConflictError, MismatchError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { setting, shownSettings } from '../status/settings.ts'
import { pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

const list = operation({
  name: 'settings.list',
  summary: 'list the settings that this process goes by, without secrets',
  role: 'viewer',
  http: 'GET /settings',
  withoutCommand: 'a command has settings of its own',
  input: z.strictObject({}),
  output: pageOf(setting),
  run: async (c) => whole(shownSettings(c.config)),
})

const reload = operation({
  name: 'settings.reload',
  summary: 'read the settings again and go by them: secrets, destinations, timetables',
  description:
    'All or nothing: with one thing wrong nothing changes (422), and `problems` says what is wrong. It is about this process alone.',
  role: 'admin',
  http: 'POST /reload',
  withoutCommand: 'the signal SIGHUP does it',
  input: z.strictObject({}),
  output: record('Reloaded', {
    applied: z.array(z.string()).readonly().describe('what works by other settings from now on'),
    needs_restart: z.array(z.string()).readonly().describe('settings that differ and stay as they were until the next start'),
  }),
  run: async (c) => {
    if (c.reload === null) throw new ConflictError(['nothing is served here that could go by other settings'])
    const { applied, needsRestart, problems } = await auditedReload(c.db, c.who, c.reload)
    if (problems.length > 0) throw new MismatchError(problems)
    return { applied, needs_restart: needsRestart }
  },
})

export const operations = [list, reload]
