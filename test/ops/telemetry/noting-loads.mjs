import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/*
 * Preloaded into a process: notes each module of OpenTelemetry that it loads in the file that LOADS names, but for the API, of which the
 * library of the metrics makes use, and which sends nothing.
 */
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry\/(?!api\/)/.test(url)) appendFileSync(process.env.LOADS, `${url}\n`)
    return next(url, context)
  },
})
