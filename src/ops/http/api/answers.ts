import type { onRouteHookHandler } from 'fastify'
import { z } from 'zod'
import { record } from '../../output/schema.ts'

/** Body of every error answer (RFC 9457). */
export const problem = record('Problem', {
  title: z.string().describe('meaning of the status'),
  status: z.int(),
  detail: z.string().describe('one sentence: the problem, and what to do'),
  problems: z.array(z.string()).optional().describe('all problems, if there are several'),
  first_seq: z.int().optional().describe('with 410: oldest stored change'),
  log_epoch: z.string().optional().describe('with 409: current log epoch'),
  epoch: z.string().optional().describe('with 409: requested log epoch'),
})

export type Problem = z.output<typeof problem>

function refusal(description: string) {
  return { description, content: { 'application/problem+json': { schema: problem } } }
}

const common = {
  400: refusal('invalid request; `problems` lists all problems'),
  401: refusal('missing, invalid or expired token or session'),
  403: refusal('insufficient role, or a session request from a page of another server'),
  408: refusal('the request did not arrive in time'),
  421: {
    description: 'unknown Host header; set OPS_PUBLIC_URL if it is the address of this server',
    content: { 'text/plain': { schema: z.string() } },
  },
  429: refusal('too many wrong tokens from this address; a valid token is always accepted'),
  431: refusal('the path and the headers are too long'),
  503: refusal('database or document storage unavailable; try again after `Retry-After`'),
}
const notFound = refusal('not found')
const conflict = refusal('not possible in the current state')
const gone = refusal('no longer kept')
const mismatch = refusal('valid, but does not match the settings')

export function answers<T extends z.ZodType>(description: string, schema: T) {
  return { 200: { description, content: { 'application/json': { schema } } }, ...common }
}

/** Answers of a route that returns no body on success. */
export function done(description: string) {
  return { 204: z.undefined().describe(description), ...common }
}

export function answersAbout<T extends z.ZodType>(description: string, schema: T) {
  return { ...answers(description, schema), 404: notFound }
}

/** Answers of a route that a client calls repeatedly, each time with the position from the previous answer. */
export function answersSince<T extends z.ZodType>(description: string, schema: T) {
  return { ...answersAbout(description, schema), 409: conflict, 410: gone }
}

export function answersOfAction<T extends z.ZodType>(description: string, schema: T) {
  return { ...answersAbout(description, schema), 409: conflict, 422: mismatch }
}

const longPart = { 414: refusal('a part of the path is too long') }
const unreadableBody = { 413: refusal('the body is too large'), 415: refusal('unsupported content type') }

/** Describes the answers 414 (path too long), 413 and 415 (body) of each route that can give them. */
export const describeForms: onRouteHookHandler = (route) => {
  const isRead = route.method === 'GET' || route.method === 'HEAD'
  const forms = { ...(route.url.includes(':') && longPart), ...(!isRead && unreadableBody) }
  route.schema = { ...route.schema, response: { ...(route.schema?.response as object | undefined), ...forms } }
}

export function fileAbout(description: string) {
  const content = { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } }
  return { 200: { description, content }, ...common, 404: notFound, 409: conflict }
}

export function textAbout(type: 'text/csv' | 'text/html', description: string) {
  return { 200: { description, content: { [type]: { schema: z.string() } } }, ...common, 404: notFound }
}
