import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/*
 * Preloaded into a process: appends each OpenTelemetry module that it loads to the file LOADS. The API is left out, because the library of
 * the metrics uses it and it sends nothing.
 */
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry\/(?!api\/)/.test(url)) appendFileSync(process.env.LOADS, `${url}\n`)
    return next(url, context)
  },
})
