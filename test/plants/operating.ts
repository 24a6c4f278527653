import type { Plants } from './plant.ts'

/** What operators use, the settings, and the sandbox. */
export const operating: Plants = {
  'a minute of the settings has six seconds': {
    file: 'config/schema/values.ts',
    edits: [['m: 60_000, h: 3_600_000', 'm: 6_000, h: 3_600_000']],
    foundBy: ['config/schema/values.test.ts'],
  },
  'an unknown key of the settings is let through': {
    file: 'config/schema/builders.ts',
    edits: [['return z.strictObject(shape, {', 'return z.object(shape, {']],
    foundBy: ['config/sources/file.test.ts'],
  },
  'two accounts may share a webhook secret': {
    file: 'config/schema/cross-checks.ts',
    edits: [
      [
        'if (other === undefined) return\n      const message =\n        other === index',
        'if (other !== index) return\n      const message =\n        other === index',
      ],
    ],
    foundBy: ['config/sources/file.test.ts', 'config/secrets.test.ts'],
  },
  'a secret among the settings is shown': {
    file: 'ops/status/settings.ts',
    edits: [
      [
        'else if (isSecret(value)) yield { ...of, value: secretOf(value), is_secret: true }',
        'else if (isSecret(value)) yield { ...of, value: value.reveal(), is_secret: true }',
      ],
      ["typeof value === 'string'\n        ? hide(value)", "typeof value === 'string'\n        ? (hide, value)"],
    ],
    foundBy: ['ops/http/routes/operations.test.ts'],
  },
  'a log line has a tax id': {
    file: 'base/log.ts',
    edits: [['if (!keys.mayBeIn(line)) return line', 'if (keys.mayBeIn(line)) return line']],
    foundBy: ['base/log.test.ts'],
  },
  'free text counts as no personal value': {
    file: 'model/masking.ts',
    edits: [["['personal', 'free', 'document', 'tax id']", "['personal', 'document', 'tax id']"]],
    foundBy: ['model/masking.test.ts'],
  },
  'the timeline shows what a message says': {
    file: 'ops/operations/submission-answers.ts',
    edits: [['return hidden(z.string().nullable().describe(description), mask)', 'return z.string().nullable().meta({ description })']],
    foundBy: ['ops/http/routes/submission-views.test.ts'],
  },
  'the change log is read with personal values': {
    file: 'ops/operations/changes.ts',
    edits: [['    maskedRow(entity, row as Row),', '    entity === "" ? null : row,']],
    foundBy: ['ops/http/routes/changes.test.ts'],
  },
  'a reader of the change log does not learn that it lost changes': {
    file: 'ops/operations/changes.ts',
    edits: [['if (behind < first_seq - 1)', 'if (behind < 0)']],
    foundBy: ['ops/http/routes/changes.test.ts'],
  },
  'an assistant sees what a destination answered': {
    file: 'ops/mcp/from-operation.ts',
    edits: [
      [
        'found(masked(op.output, await op.run({ ...p, ...parts, nameOf }, input)))',
        'found(await op.run({ ...p, ...parts, nameOf }, input))',
      ],
    ],
    foundBy: ['ops/operations/operations.test.ts'],
  },
  'a list tells over HTTP what a destination answered': {
    file: 'ops/http/from-operation.ts',
    edits: [['return masked(op.output, output)', 'return output']],
    foundBy: ['ops/operations/operations.test.ts'],
  },
  'an assistant of a viewer may act': {
    file: 'ops/http/mcp.ts',
    edits: [["includesRole(request.holder.role, 'operator')", "includesRole(request.holder.role, 'viewer')"]],
    foundBy: ['ops/mcp/mcp.test.ts'],
  },
  'a viewer may do what an operator may': {
    file: 'ops/http/api/guard.ts',
    edits: [['|| includesRole(role, needed)) return undefined', "|| role === 'viewer' || includesRole(role, needed)) return undefined"]],
    foundBy: ['ops/http/roles.test.ts', 'ops/operations/operations.test.ts'],
  },
  'a page of another server may act in a session': {
    file: 'ops/http/api/guard.ts',
    edits: [['if (id !== null && !isRead(request) && !isOwn) return refuse(reply, 403, [FOREIGN])\n', '']],
    foundBy: ['ops/http/session.test.ts'],
  },
  'a session outlives its token': {
    file: 'ops/http/api/sessions.ts',
    edits: [["if (!timingSafeEqual(proofOf(id, known.credential), Buffer.from(session.token_proof, 'hex'))) return null\n", '']],
    foundBy: ['ops/http/session.test.ts'],
  },
  'a replay of deliveries is not noted': {
    file: 'ops/operations/inbox-settling.ts',
    edits: [['await action.change(auditedDb(c.db, { ...note, detail: idsForAudit(ids) }), found)', 'await action.change(c.db, found)']],
    foundBy: ['ops/http/routes/inbox.test.ts'],
  },
  'another run in progress is a failure': {
    file: 'ops/cli/exit-codes.ts',
    edits: [['if (error instanceof BusyError) return exitCodes.busy\n', '']],
    foundBy: ['ops/cli/restore.test.ts'],
  },
  'doctor ends with 0 although a check failed': {
    file: 'ops/operations/doctor.ts',
    edits: [['(items.some(({ fails }) => fails) ? 1 : 0)', '(items.length === 0 ? 1 : 0)']],
    foundBy: ['ops/doctor/doctor.test.ts'],
  },
  'doctor says that what could not be checked is right': {
    file: 'ops/doctor/doctor.ts',
    edits: [['yield unchecked(about, messageOf(error))', 'yield good(about, messageOf(error))']],
    foundBy: ['ops/doctor/doctor.test.ts'],
  },
  'an alarm never ends': {
    file: 'ops/alarms/transition.ts',
    edits: [["'forget' : { ...row, state: 'resolved', resolved_at: now }", "'forget' : null"]],
    foundBy: ['ops/alarms/transition.test.ts'],
  },
  'nobody watches the inbox': {
    file: 'ops/alarms/alarm-watch.ts',
    edits: [
      ['[accountWatcher, deliveryWatcher, inboxWatcher, destinationWatcher,', '[accountWatcher, deliveryWatcher, destinationWatcher,'],
    ],
    foundBy: ['ops/alarms/watch.test.ts'],
  },
  'reads that fail do not count against the mirror': {
    file: 'ops/health/verdict.ts',
    edits: [["    ...(a.failing.often > 0 ? [late('failing', of, null, a.failing.often)] : []),\n", '']],
    foundBy: ['ops/status/verdict.test.ts'],
  },
  'a document whose file is shorter counts as whole': {
    file: 'ops/actions/documents.ts',
    edits: [['return found_bytes === stored_bytes ? null', 'return found_bytes !== null ? null']],
    foundBy: ['ops/cli/document-check.test.ts'],
  },
  'the sandbox attributes a write to a user who has left': {
    file: 'sandbox/service/authority.ts',
    edits: [['(other) => other.active && other.email === email', '(other) => other.email === email']],
    foundBy: ['sandbox/service/authority.test.ts'],
  },
  'the sandbox lets a key write that may only read': {
    file: 'sandbox/service/authority.ts',
    edits: [
      ["if (caller.scopes.includes(scope) || caller.scopes.includes('broker_submit')) return", 'if (caller.scopes.length > 0) return'],
    ],
    foundBy: ['sandbox/auth.test.ts', 'sandbox/http/grants.test.ts'],
  },
  'the sandbox records a reply once more under its key': {
    file: 'sandbox/service/thread-post.ts',
    edits: [['if (known !== undefined) return known\n', 'void known\n']],
    foundBy: ['sandbox/http/conversation.test.ts'],
  },
}
