// `node test/tools/console-api.ts` writes this file, of what GET /api/v1/openapi.json answers: change the routes instead.

export interface paths {
    "/api/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** the accounts, their state, and which brokerage each belongs to */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description all accounts */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Account"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{name}/completeness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** how complete the mirror of each submission of an account is */
        get: {
            parameters: {
                query?: {
                    after?: string;
                    /** @description how many at most */
                    limit?: number;
                    submission_id?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of submissions, by their ids */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["SubmissionCompleteness"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** let a parked or paused account try at once instead of at its time */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description what it was, and whether it tries now */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AccountResumed"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** what operators did, by commands and by these routes, the newest first */
        get: {
            parameters: {
                query?: {
                    action?: string;
                    /** @description the `next` of the page before */
                    after?: number;
                    /** @description how many at most */
                    limit?: number;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    since?: string;
                    who?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of actions */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Action"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** the alarms that fire */
        get: {
            parameters: {
                query?: {
                    /** @description also what is over */
                    all?: "true" | "false";
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the alarms */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Alarm"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** send a test message to operators, and tell what came of it */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": {
                        /** @description all of them when left out */
                        operator?: string;
                    } | null;
                };
            };
            responses: {
                /** @description what came of it, for each operator */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["OperatorTried"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * SQLite: make a consistent copy of the database while it is worked on, and verify it
         * @description The copy gets its name in the folder of the database when it is whole and verified. It takes as long as the file is large.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /**
                         * @description its name; there must be no such file yet
                         * @example backup-2026-11-22.db
                         */
                        file: string;
                    };
                };
            };
            responses: {
                /** @description the copy, verified */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Backup"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/completeness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** how complete the mirror is, by account, and what nobody can say */
        get: {
            parameters: {
                query?: {
                    /** @description only this one */
                    account?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description all accounts */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["AccountCompleteness"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                            /** @description what complete means */
                            scope: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** the destinations, their state, and what waits for them */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description all destinations */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Destination"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/mappings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** which client of the AMS submissions belong to, as was said */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    after?: string;
                    /** @description how many at most */
                    limit?: number;
                    submission_id?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of mappings, by account and submission */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Mapping"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * say which client of the AMS submissions belong to; what waited for that goes out
         * @description One wrong row, and nothing is stored.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        rows: components["schemas"]["MappingRowInput"][];
                    };
                };
            };
            responses: {
                /** @description how many were stored */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MappingsStored"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/mappings.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * the same, from a CSV
         * @description The first line names the columns: `submission_id` and `client`, and maybe `account`, `policy` and others. One wrong line, and nothing is stored.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "text/csv": string;
                };
            };
            responses: {
                /** @description how many were stored */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MappingsStored"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** send nothing to a destination any more; its changes are queued all the same */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": {
                        /** @description why, for whoever looks at the list */
                        reason?: string;
                    } | null;
                };
            };
            responses: {
                /** @description it is paused */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DestinationChanged"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** let a paused, parked or disabled destination go on, end its rest, and try now what failed before */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description it is active */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DestinationChanged"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** make one harmless try, and tell what came of it */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description what came of it */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DestinationTried"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * look whether everything works: database, accounts, the way of the deliveries, destinations
         * @description Each destination gets one harmless try, and the public address, where there is one, a signed delivery. It can take a minute.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": {
                        /** @description only this one */
                        destination?: string;
                    } | null;
                };
            };
            responses: {
                /** @description what was looked at */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Finding"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** documents, in the order of their keys */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    after?: string;
                    /** @description how many at most */
                    limit?: number;
                    state?: "stored" | "waiting" | "failed" | "gone";
                    submission_id?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of documents */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Document"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * the file of a document
         * @description Who took it is noted in `operator_actions`.
         */
        get: {
            parameters: {
                query?: {
                    account?: string;
                };
                header?: never;
                path: {
                    /** @description its `document_key` */
                    key: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description its bytes */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/octet-stream": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** stored deliveries, the newest first */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    /** @description the `next` of the page before */
                    after?: number;
                    /** @description how many at most */
                    limit?: number;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    since?: string;
                    state?: "ready" | "done" | "aside" | "dead";
                    submission_id?: string;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    until?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of deliveries */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["Delivery"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * a delivery with its headers and body
         * @description The same svix-id may have come to several accounts, so this is a list.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description its svix-id, or its number */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the deliveries of that id */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["DeliveryShown"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** work stored deliveries again */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        account?: string;
                        /** @description ids of deliveries, or their numbers */
                        ids?: string[];
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        since?: string;
                        /**
                         * @description all deliveries in this state
                         * @enum {string}
                         */
                        state?: "dead" | "aside";
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        until?: string;
                    };
                };
            };
            responses: {
                /** @description how many will be worked again */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Replayed"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * give dead deliveries up
         * @description They are set aside, and retention takes them in its time. Until then they can be replayed.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        account?: string;
                        /** @description ids of deliveries, or their numbers */
                        ids?: string[];
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        since?: string;
                        /**
                         * @description all deliveries in this state
                         * @enum {string}
                         */
                        state?: "dead";
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        until?: string;
                    };
                };
            };
            responses: {
                /** @description how many were set aside */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Skipped"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** this description, as OpenAPI */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description an OpenAPI document */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            openapi: string;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** changes on their way to destinations, the newest first */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    /** @description the `next` of the page before */
                    after?: number;
                    destination?: string;
                    /** @description how many at most */
                    limit?: number;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    since?: string;
                    state?: "ready" | "waiting" | "retrying" | "unmapped" | "held" | "delivered" | "dead" | "unknown" | "skipped";
                    submission_id?: string;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    until?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of the outbox */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["OutboxRow"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * all that is known of a change on its way
         * @description The same message may be on its way to several destinations, so this is a list.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description its message id (webhook-id), or its number */
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the rows of that id */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["OutboxRow"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** try changes again that were given up */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        account?: string;
                        destination?: string;
                        /** @description numbers, or message ids (webhook-id); `destination` is needed for a message that is on its way to several */
                        ids?: string[];
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        since?: string;
                        /**
                         * @description when left out: dead letters and unknown outcomes
                         * @enum {string}
                         */
                        state?: "dead" | "unknown" | "skipped";
                        /** Format: uuid */
                        submission_id?: string;
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        until?: string;
                    };
                };
            };
            responses: {
                /** @description how many were changed */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OutboxSettled"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** give changes up for good, so that what waits behind them goes on */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        account?: string;
                        destination?: string;
                        /** @description numbers, or message ids (webhook-id); `destination` is needed for a message that is on its way to several */
                        ids?: string[];
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        since?: string;
                        /**
                         * @description when left out: dead letters and unknown outcomes
                         * @enum {string}
                         */
                        state?: "dead" | "unknown" | "ready";
                        /** Format: uuid */
                        submission_id?: string;
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        until?: string;
                    };
                };
            };
            responses: {
                /** @description how many were changed */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OutboxSettled"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * whether the mirror is complete and fresh, and what needs a person, with the request that mends it
         * @description The sentence is the one that `status` prints first. Cheap enough to be asked every few seconds.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the overview */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Overview"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** reconcile runs, the newest first */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    /** @description the `next` of the page before */
                    after?: string;
                    /** @description how many at most */
                    limit?: number;
                    /**
                     * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                     * @example 24h
                     */
                    since?: string;
                    state?: "requested" | "running" | "done" | "budget" | "failed" | "stopped";
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of runs */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["ReconcileRun"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        /** ask for a reconcile run: a process that works takes it up */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description every account of the settings when left out */
                        account?: string;
                        /** @description only submissions that are not dormant */
                        active_only?: boolean;
                        /** @description reads at once */
                        concurrency?: number;
                        /** @description write nothing but the report */
                        dry_run?: boolean;
                        /** @description the feeds only */
                        no_state?: boolean;
                        /**
                         * @description only submissions in which something moved since
                         * @example 24h
                         */
                        since?: string;
                        /** @description only these */
                        submissions?: string[];
                    };
                };
            };
            responses: {
                /** @description the runs, one for each account */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["ReconcileRun"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** one reconcile run */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the run */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ReconcileRun"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** what a run found */
        get: {
            parameters: {
                query?: {
                    /** @description the `next` of the page before */
                    after?: number;
                    kind?: "missing" | "different" | "absent" | "unreadable" | "undelivered" | "lost";
                    /** @description how many at most */
                    limit?: number;
                    standing?: "true" | "false";
                    submission_id?: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of findings, in the order in which they were found */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["ReconcileFinding"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/report.html": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** the report of a run, as a page of its own */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the report */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/html": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/report.md": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** the report of a run, as Markdown */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the report */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/markdown": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** deliveries that were refused, with the reason, the newest first */
        get: {
            parameters: {
                query?: {
                    account?: string;
                    /** @description the `next` of the page before */
                    after?: number;
                    /** @description how many at most */
                    limit?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description a page of refused deliveries */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            items: components["schemas"]["RefusedDelivery"][];
                            /** @description give it as `after` for the next page; null: this is the last */
                            next: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** a refused delivery with its headers and body */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the refused delivery */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RefusedDeliveryShown"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * verify refused deliveries again, after a secret was mended
         * @description Those that verify now are stored and worked, their time judged by when they came.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": {
                        account?: string;
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        since?: string;
                        /**
                         * @description a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`
                         * @example 24h
                         */
                        until?: string;
                    } | null;
                };
            };
            responses: {
                /** @description how many verify now, and why the others do not */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RefusedReplayed"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * read the settings again and go by them: secrets, destinations, timetables
         * @description All or nothing: with one thing wrong nothing changes (422), and `problems` says what is wrong. It is about this process alone.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description what changed */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Reloaded"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/retention/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * say what the next turn of retention removes and why it waits; with `confirm` let it take place
         * @description A confirmed turn begins within five minutes, in the process that runs retention.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": {
                        /** @default false */
                        confirm?: boolean;
                    } | null;
                };
            };
            responses: {
                /** @description what it removes */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Retention"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** who one is, and what one may */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description who asks */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Session"];
                    };
                };
            };
        };
        put?: never;
        /** sign in with a token: the answer sets the cookie of a session */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        token: string;
                    };
                };
            };
            responses: {
                /** @description signed in */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        /** sign out: the session ends */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description signed out, or not signed in */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * whether the mirror is complete and fresh, what needs a person, and accounts, reads, freshness, inbox, change log, destinations
         * @description What `submission-mirror status --json` prints. On a large database this takes a moment.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description the status */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Status"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * remove everything that is kept of submissions, and do not track them again
         * @description What the command `purge` does. The answer comes at the end; a request that is broken off is repeated, and goes on.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description the account that they belong to; the default account when left out */
                        account?: string;
                        /**
                         * @description only say what would be removed
                         * @default false
                         */
                        dry_run?: boolean;
                        /** @description those that the service has not known since before this day or time, the 500 first by id */
                        gone_before?: string;
                        ids?: string[];
                    };
                };
            };
            responses: {
                /** @description what was removed */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SubmissionsPurged"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * have submissions read from the service now, feeds and state
         * @description The answer comes at once; the process that polls reads them, feeds from the beginning, within the rate of the account. What failed before keeps its time. The view `freshness` tells when each was read.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description the account that they belong to; the default account when left out */
                        account?: string;
                        ids: string[];
                    };
                };
            };
            responses: {
                /** @description it is asked for */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SyncRequested"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/track": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** make submissions known: their feeds are read from the beginning and kept up to date */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description the account that they belong to; the default account when left out */
                        account?: string;
                        ids: string[];
                    };
                };
            };
            responses: {
                /** @description how many were new */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SubmissionsTracked"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Account: {
            account: string;
            /** @description the brokerage that its credentials were found to belong to */
            brokerage: string | null;
            client_id: string | null;
            reason: string | null;
            /** @description when it asks the service again by itself */
            retry_at: string | null;
            since: string | null;
            /** @enum {string} */
            state: "active" | "paused" | "parked" | "not configured" | "not started";
            /** @description when each, in the order of the settings, verified a delivery last */
            readonly webhook_secrets: {
                last_verified_at: string | null;
                position: number;
            }[];
        };
        /** @description a row of the view account_completeness */
        AccountCompleteness: {
            account: string;
            lag_seconds: number;
            lost_webhooks: number;
            never_read: number;
            oldest_proof_at: string | null;
            /** @description submissions that a reconcile run has found, or made, equal to the service */
            proven: number;
            submissions: number;
            unreachable: number;
            webhook_loss_ratio: number | null;
        } & {
            [key: string]: unknown;
        };
        AccountResumed: {
            account: string;
            /** @description whether a process runs that tries now */
            at_once: boolean;
            /** @description false: it was active, and there was nothing to resume */
            resumed: boolean;
            /** @enum {string} */
            was: "active" | "paused" | "parked" | "not configured" | "not started";
        };
        Action: {
            action: string;
            action_id: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            at: string;
            detail: {
                [key: string]: unknown;
            };
            /**
             * @description `begun`: under way, or its process died meanwhile
             * @enum {string}
             */
            outcome: "begun" | "done" | "failed";
            target: string | null;
            /** @description the name of a token, `command`, or `signal` */
            who: string;
        };
        Alarm: {
            /** @description empty when it is about no account */
            account: string;
            /** @description empty when it is about no destination */
            destination: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            last_at: string;
            name: string;
            notified_at: string | null;
            resolved_at: string | null;
            /** @enum {string} */
            severity: "warning" | "critical";
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            since: string;
            /** @enum {string} */
            state: "pending" | "firing" | "resolved";
            /** @description what happened, and what to do */
            text: string;
        };
        Backup: {
            bytes: number;
            /** @description of the change log */
            first_seq: number;
            last_seq: number;
            log_epoch: string;
            /** @description numbers of the change log that have no row, as in the database itself */
            lost: number;
            path: string;
            /** @description by table */
            rows: {
                [key: string]: number;
            };
            schema_version: number;
        };
        Delivery: {
            account: string;
            attempts: number;
            /** @description the svix-id */
            delivery_id: string;
            error: string | null;
            /** @description its number */
            inbox_id: number;
            kind: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @enum {string} */
            state: "ready" | "done" | "aside" | "dead";
            submission_id: string | null;
        };
        DeliveryShown: {
            account: string;
            attempts: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            available_at: string;
            /** @description as it came; null when retention has taken it */
            body: string | null;
            /** @description the svix-id */
            delivery_id: string;
            error: string | null;
            headers: {
                [key: string]: string;
            };
            /** @description its number */
            inbox_id: number;
            kind: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @description which of the account's webhook secrets verified it, from 1 */
            secret: number;
            settled_at: string | null;
            /** @enum {string} */
            state: "ready" | "done" | "aside" | "dead";
            submission_id: string | null;
        };
        Destination: {
            /** @description the newest change that was queued for it */
            cursor: number | null;
            dead: number;
            destination: string;
            /** @description submissions that a dead letter or an unknown outcome holds */
            held_lanes: number;
            /** @description null: the settings have none of this name any more */
            kind: string | null;
            oldest_queued_at: string | null;
            queued: number;
            reason: string | null;
            retry_at: string | null;
            since: string | null;
            /** @description null: it was not served yet */
            state: ("active" | "paused" | "parked" | "disabled") | null;
            unknown: number;
            /** @description submissions that wait for a client of the AMS */
            unmapped_lanes: number;
        };
        DestinationChanged: {
            destination: string;
            /** @enum {string} */
            state: "active" | "paused" | "parked" | "disabled";
            /** @enum {string} */
            was?: "active" | "paused" | "parked" | "disabled";
        };
        DestinationTried: {
            destination: string;
            ok: boolean;
            /** @description what the try showed, in a sentence */
            text: string;
        };
        Document: {
            account: string;
            content_type: string | null;
            created_at: string | null;
            document_id: string | null;
            document_key: string;
            error: string | null;
            gone_at: string | null;
            insured_name: string | null;
            name: string | null;
            origin: string | null;
            sha256: string | null;
            source_label: string | null;
            /** @enum {string} */
            state: "stored" | "waiting" | "failed" | "gone";
            stored_at: string | null;
            stored_bytes: number | null;
            stored_path: string | null;
            submission_id: string | null;
            tried_at: string | null;
        };
        Finding: {
            about: string;
            ok: boolean;
            /** @description what is right, or what is wrong and what to do */
            text: string;
        };
        Mapping: {
            account: string;
            client: string;
            destination: string;
            fields: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            mapped_at: string;
            /** @description `import`, `admin`, `lookup`, or `sql` (written into the table by hand) */
            mapped_via: string;
            policy: string | null;
            submission_id: string;
        };
        MappingRowInput: {
            /** @description needed where the destination has several */
            account?: string;
            client: string;
            /** @description more for templates and adapters */
            fields?: {
                [key: string]: string;
            };
            policy?: string;
            submission_id: string;
        };
        MappingsStored: {
            stored: number;
            /** @description of these the mirror does not know the submission yet */
            unknown_submissions: number;
        };
        OperatorTried: {
            ok: boolean;
            operator: string;
            text: string;
        };
        OutboxRow: {
            account: string;
            attempts: number;
            delivered_at: string | null;
            destination: string;
            destination_state: string;
            detail: string | null;
            entity: string;
            entity_id: string;
            error: string | null;
            /** @description what keeps its order: a submission, or another entity */
            lane: string;
            /** @description the webhook-id */
            message_id: string;
            next_try_at: string | null;
            operation: string;
            /** @description its number */
            outbox_id: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            queued_at: string;
            remote_id: string | null;
            seq: number;
            /** @description as in the view push_status */
            state: string;
            status: number | null;
            submission_id: string | null;
            tried_at: string | null;
        };
        OutboxSettled: {
            changed: number;
            /** @description left alone, because they are being sent just now */
            under_way: number;
        };
        Overview: {
            accounts: {
                account: string;
                dead: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                newest_read_at: string | null;
                oldest_wake_at: string | null;
                stalest_read_at: string | null;
                state: string;
                submissions: number;
            }[];
            destinations: {
                dead: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                destination: string;
                held: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                oldest_unsent_at: string | null;
                state: string;
                unknown: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                unmapped: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
            }[];
            /** @description deliveries that wait to be applied */
            inbox: {
                /** @description counted up to a limit */
                count: number;
                oldest_at: string | null;
            };
            /** @description what is older than it should be, and gets fresh without a person */
            late: {
                count: number | null;
                kind: string;
                of: string | null;
                since: string | null;
            }[];
            needs: {
                count: number;
                kind: string;
                mend: {
                    body?: {
                        [key: string]: string;
                    } | null;
                    /** @description what to type */
                    command?: string;
                    /**
                     * @description with `path` and `body`: the request that mends it, where one can
                     * @constant
                     */
                    method?: "POST";
                    path?: string;
                    /** @description the section of the runbook that tells what to do */
                    runbook?: string;
                };
                since: string | null;
                what: string;
            }[];
            /** @description the verdict and its reasons, for people */
            sentence: string;
            /** @description whether a process works on the database now */
            served: boolean;
            /** @description since when it needs a person or is behind; null when not known, or complete */
            since: string | null;
            submissions: {
                known: number;
                never_read: number;
                unreachable: number;
            };
            /** @enum {string} */
            verdict: "complete" | "catching_up" | "attention";
        };
        Problem: {
            /** @description one sentence: what is wrong, and what to do */
            detail: string;
            /** @description when several things are wrong: all of them */
            problems?: string[];
            status: number;
            /** @description what the status means */
            title: string;
        };
        ReconcileFinding: {
            account: string;
            destination: string | null;
            detail: string;
            entity: string | null;
            entity_id: string | null;
            fields: {
                field: string;
                mirror: unknown;
                service: unknown;
            }[] | null;
            finding_no: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            found_at: string;
            /** @enum {string} */
            kind: "missing" | "different" | "absent" | "unreadable" | "undelivered" | "lost";
            read: string | null;
            repaired_at: string | null;
            run_id: string;
            seq: number | null;
            /** @description it was known before this run */
            standing: boolean;
            submission_id: string | null;
        };
        ReconcileRun: {
            absent: number;
            account: string;
            different: number;
            ended_at: string | null;
            exit_code: number | null;
            /** @description findings that stand since before; they are not counted above */
            known: number;
            /** @description holes in the change log */
            lost: number;
            missing: number;
            note: string | null;
            options: {
                [key: string]: unknown;
            };
            repaired: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            requested_at: string;
            /** @description `command`, `cron`, or `admin:` and the name of a token */
            requested_by: string;
            rows_compared: number;
            run_id: string;
            /** @description the scheduled time of the run (RECONCILE_CRON); null for one that an operator requested */
            slot: string | null;
            started_at: string | null;
            /** @enum {string} */
            state: "requested" | "running" | "done" | "budget" | "failed" | "stopped";
            submissions_done: number;
            submissions_total: number;
            undelivered: number;
            unreadable: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            updated_at: string;
        };
        RefusedDelivery: {
            account: string | null;
            address: string;
            /** @description how long its body was; null when it was not read */
            body_bytes: number | null;
            /** @description only its beginning is kept, so it cannot be verified again */
            body_cut: boolean;
            path: string;
            reason: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            rejected_id: number;
            replayed_at: string | null;
        };
        RefusedDeliveryShown: {
            account: string | null;
            address: string;
            body: string | null;
            /** @description how long its body was; null when it was not read */
            body_bytes: number | null;
            /** @description only its beginning is kept, so it cannot be verified again */
            body_cut: boolean;
            headers: {
                [key: string]: string;
            };
            path: string;
            reason: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            rejected_id: number;
            replayed_at: string | null;
        };
        RefusedReplayed: {
            accepted: number;
            refused: {
                [key: string]: number;
            };
        };
        Reloaded: {
            /** @description what works by other settings from now on */
            applied: string[];
            /** @description settings that differ and stay as they were until the next start */
            needs_restart: string[];
        };
        Replayed: {
            replayed: number;
        };
        Retention: {
            changes: {
                of: number;
                /** @description that the turn removes, about */
                rows: number;
            };
            /** @description whose body and headers go */
            deliveries: {
                of: number;
                /** @description that the turn removes, about */
                rows: number;
            };
            /** @description the turn of today is done */
            done: boolean;
            /** @description what the last turn did */
            last: string | null;
            text: string;
            /** @description why the turn waits; null when it does not */
            waits_for: string | null;
        };
        Session: {
            /** @description of a session, whatever is done in it */
            ends_at: string | null;
            /** @description of a session, when nothing more is asked; noted with a tenth of OPS_SESSION_IDLE */
            idle_ends_at: string | null;
            /** @description the roles that it includes */
            may: ("viewer" | "operator" | "admin")[];
            /** @description of the token */
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            /** @enum {string} */
            via: "token" | "session";
        };
        Skipped: {
            skipped: number;
        };
        Status: {
            accounts: ({
                account: string;
                state: string;
                submissions: number;
            } & {
                [key: string]: unknown;
            })[];
            change_log: {
                first_seq: number;
                last_seq: number;
            };
            clocks: {
                /** @description how far this machine's clock is ahead of each */
                apart: {
                    ahead_ms: number;
                    clock: string;
                }[];
                /** @description what waits for that, or for an operator */
                waits: string[];
            };
            /** @enum {string} */
            database: "sqlite" | "postgres";
            destinations: ({
                destination: string;
                queued: number;
                state: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description what needs a person; empty unless the verdict is `attention` */
            needs: {
                count: number;
                kind: string;
                mend: {
                    command: string;
                } | {
                    runbook: string;
                };
                since: string | null;
                what: string;
            }[];
            processes: ({
                process_id: string;
                role: string;
                version: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description on how many Postgres servers an acknowledged delivery lies, with standbys and slots; null on SQLite */
            replication: ({
                servers: number;
                synchronous_standby_names: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description the verdict and its reasons, for people */
            sentence: string;
            /**
             * @description what the mirror is judged to be
             * @enum {string}
             */
            verdict: "complete" | "catching_up" | "attention";
            version: string;
            /** @description what an operator should look into, a sentence each */
            warnings: string[];
        } & {
            [key: string]: unknown;
        };
        /** @description a row of the view completeness */
        SubmissionCompleteness: {
            account: string;
            lag_seconds: number;
            lost_webhooks: number;
            proved_at: string | null;
            submission_id: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            tracked_at: string;
            /** @description how it became known */
            tracked_via: string;
            unreachable_since: string | null;
        } & {
            [key: string]: unknown;
        };
        SubmissionsPurged: {
            account: string;
            dry_run: boolean;
            /** @description removed, or to be removed */
            submissions: string[];
            /** @description had no row here; they will not be tracked either */
            unknown: string[];
        };
        SubmissionsTracked: {
            account: string;
            /** @description not known before */
            added: number;
            /** @description known before */
            known: number;
            /** @description purged before, and therefore not tracked */
            purged: number;
        };
        SyncRequested: {
            account: string;
            /** @description how many will be read */
            submissions: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
