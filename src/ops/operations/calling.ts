import type { z } from 'zod'
import type { Call, Fix } from '../health/fix.ts'
import { isDocument, kindOf } from './from-text.ts'
import { type AnyOperation, commandOf } from './operation.ts'

type Input = Extract<Fix, { operation: string }>['input']

/**
 * @returns the option for a field: `--submission` for `submission_id`, `--dry-run` for `dry_run`.
 * Returns `--field` for the record `fields`. This option is repeated for each entry.
 */
export function optionOf(field: string, schema: z.ZodType | undefined): string {
  const one = schema && kindOf(schema) === 'record' ? field.replace(/s$/, '') : field
  return `--${one.replace(/_ids?$/, '').replaceAll('_', '-')}`
}

/** @returns the command line, the tool and the HTTP request that call an operation with an input. */
export function callOf(op: AnyOperation, input: Input): Call {
  return { command: commandLine(op, input), ...(op.tool !== undefined && { tool: op.tool }), ...requestOf(op, input) }
}

function commandLine(op: AnyOperation, input: Input): string {
  const words = Object.entries(input).flatMap(([field, value]) =>
    field === op.argument ? [quoted(value)] : [optionOf(field, op.input.shape[field]), quoted(value)],
  )
  return ['submission-mirror', commandOf(op), ...words].join(' ')
}

/** Quotes a value for the shell, if necessary. */
function quoted(value: string): string {
  return /^[\w.:/@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
}

function requestOf(op: AnyOperation, input: Input): Pick<Call, 'method' | 'path' | 'body'> {
  const [method = '', url = ''] = op.http.split(' ')
  const fields = Object.keys(input)
  if (method === 'GET' || fields.some((field) => isDocument(op.input.shape[field]))) return {}
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, field = '']) => field)
  const rest = Object.entries(input).filter(([field]) => !inPath.includes(field))
  return {
    method: method as NonNullable<Call['method']>,
    path: `/api/v1${url.replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(input[field] ?? ''))}`,
    body: rest.length === 0 ? null : Object.fromEntries(rest),
  }
}
