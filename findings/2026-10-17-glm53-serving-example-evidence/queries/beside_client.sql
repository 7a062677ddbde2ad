-- The client's own mean of each time that the engine measures too.
-- key: cell, canonical
-- n: client_n
-- rows: requests where counted and dispatched
SELECT arm, cell, canonical, client_metric, 's' AS unit, client_n, client_mean
FROM engine_beside_client ORDER BY arm, cell, canonical;
