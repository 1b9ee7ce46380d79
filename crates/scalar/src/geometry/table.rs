//! The functions of geometric types.

use types::float::{div8, mul8};
use types::geometry::{Circle, Line, Path, Point, Polygon, Rectangle, Segment};

use super::area::{self, PointLocation};
use super::fuzzy::{
    box_contains, box_has, boxes_overlap, difference, distance, is_at_least, is_at_most, is_equal,
    is_greater, is_less, is_other, is_zero, middle, product, quotient, sum,
};
use super::straight;
use super::{
    around, bottom, bound_box, box_area, box_to_circle, box_to_polygon, center, circle_area,
    circle_contains, circle_has, circle_to_box, circle_to_point, circle_to_polygon,
    circles_distance, circles_overlap, common_box, found, height, joined, left, length, lies_on,
    line_through, lines_distance, moved_box, moved_path, nearest_to_line, nearest_to_segment,
    path_to_polygon, perpendicular, polygon_of_circle, right, same_circles, same_lines,
    same_segments, scaled_circle, slope, top, turned_box, width,
};
use crate::function::{Function, functions};

pub(crate) const TABLE: &[Function] = functions! {
    115 box_above_eq(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_least(a.low.y, b.high.y);
    116 box_below_eq(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_most(a.high.y, b.low.y);
    125 box_overlap(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) boxes_overlap(a, b);
    126 box_ge(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_least(box_area(a)?, box_area(b)?);
    127 box_gt(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_greater(box_area(a)?, box_area(b)?);
    128 box_eq(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_equal(box_area(a)?, box_area(b)?);
    129 box_lt(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_less(box_area(a)?, box_area(b)?);
    130 box_le(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_most(box_area(a)?, box_area(b)?);
    131 point_above(POINT, POINT) -> BOOL = (a: Point, b: Point) is_greater(a.y, b.y);
    132 point_left(POINT, POINT) -> BOOL = (a: Point, b: Point) is_less(a.x, b.x);
    133 point_right(POINT, POINT) -> BOOL = (a: Point, b: Point) is_greater(a.x, b.x);
    134 point_below(POINT, POINT) -> BOOL = (a: Point, b: Point) is_less(a.y, b.y);
    135 point_eq(POINT, POINT) -> BOOL = (a: Point, b: Point) a.is_same(b);
    136 on_pb(POINT, BOX) -> BOOL = (a: Point, b: Rectangle) box_has(b, a);
    137 on_ppath(POINT, PATH) -> BOOL = (a: Point, b: Path) area::path_has(&b, a);
    138 box_center(BOX) -> POINT = (a: Rectangle) center(a);
    186 box_same(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        a.high.is_same(b.high) && a.low.is_same(b.low);
    187 box_contain(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) box_contains(a, b);
    188 box_left(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) is_less(a.high.x, b.low.x);
    189 box_overleft(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_most(a.high.x, b.high.x);
    190 box_overright(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_least(a.low.x, b.low.x);
    191 box_right(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) is_greater(a.low.x, b.high.x);
    192 box_contained(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) box_contains(b, a);
    193 box_contain_pt(BOX, POINT) -> BOOL = (a: Rectangle, b: Point) box_has(a, b);
    225 lseg_center(LSEG) -> POINT = (a: Segment) middle(a.0, a.1);
    227 poly_center(POLYGON) -> POINT = (a: Polygon)
        area::circle_of(&a).map(|circle| circle.center);
    239 line_distance(LINE, LINE) -> FLOAT8 = (a: Line, b: Line) lines_distance(a, b);
    277 inter_sl(LSEG, LINE) -> BOOL = (a: Segment, b: Line)
        straight::crossing_of_line(a, b).map(|found| found.is_some());
    278 inter_lb(LINE, BOX) -> BOOL = (a: Line, b: Rectangle) straight::box_meets_line(b, a);
    339 poly_same(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon) area::polygons_same(&a, &b);
    340 poly_contain(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        area::polygon_contains(&a, &b);
    341 poly_left(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).high.x < around(&b).low.x;
    342 poly_overleft(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).high.x <= around(&b).high.x;
    343 poly_overright(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).low.x >= around(&b).low.x;
    344 poly_right(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).low.x > around(&b).high.x;
    345 poly_contained(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        area::polygon_contains(&b, &a);
    346 poly_overlap(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        area::polygons_overlap(&a, &b);
    357 dist_bp(BOX, POINT) -> FLOAT8 = (a: Rectangle, b: Point)
        straight::nearest_in_box(a, b).map(|(far, _)| far);
    361 lseg_distance(LSEG, LSEG) -> FLOAT8 = (a: Segment, b: Segment)
        straight::nearest_to_segment(a, b).map(|(far, _)| far);
    362 lseg_interpt(LSEG, LSEG) -> POINT = (a: Segment, b: Segment) straight::crossing(a, b);
    363 dist_ps(POINT, LSEG) -> FLOAT8 = (a: Point, b: Segment)
        straight::nearest_on_segment(b, a).map(|(far, _)| far);
    364 dist_pb(POINT, BOX) -> FLOAT8 = (a: Point, b: Rectangle)
        straight::nearest_in_box(b, a).map(|(far, _)| far);
    365 dist_sb(LSEG, BOX) -> FLOAT8 = (a: Segment, b: Rectangle)
        straight::nearest_in_box_to_segment(b, a).map(|(far, _)| far);
    366 close_ps(POINT, LSEG) -> POINT = (a: Point, b: Segment)
        straight::nearest_on_segment(b, a).map(found);
    367 close_pb(POINT, BOX) -> POINT = (a: Point, b: Rectangle)
        straight::nearest_in_box(b, a).map(found);
    368 close_sb(LSEG, BOX) -> POINT = (a: Segment, b: Rectangle)
        straight::nearest_in_box_to_segment(b, a).map(found);
    369 on_ps(POINT, LSEG) -> BOOL = (a: Point, b: Segment) straight::segment_has(b, a);
    370 path_distance(PATH, PATH) -> FLOAT8 = (a: Path, b: Path) area::paths_distance(&a, &b);
    371 dist_ppath(POINT, PATH) -> FLOAT8 = (a: Point, b: Path) area::path_distance(&b, a);
    372 on_sb(LSEG, BOX) -> BOOL = (a: Segment, b: Rectangle) box_has(b, a.0) && box_has(b, a.1);
    373 inter_sb(LSEG, BOX) -> BOOL = (a: Segment, b: Rectangle) straight::box_meets(b, a);
    380 dist_sp(LSEG, POINT) -> FLOAT8 = (a: Segment, b: Point)
        straight::nearest_on_segment(a, b).map(|(far, _)| far);
    381 dist_bs(BOX, LSEG) -> FLOAT8 = (a: Rectangle, b: Segment)
        straight::nearest_in_box_to_segment(a, b).map(|(far, _)| far);
    421 dist_pathp(PATH, POINT) -> FLOAT8 = (a: Path, b: Point) area::path_distance(&a, b);
    702 dist_lp(LINE, POINT) -> FLOAT8 = (a: Line, b: Point)
        straight::nearest_on_line(a, b).map(|(far, _)| far);
    704 dist_ls(LINE, LSEG) -> FLOAT8 = (a: Line, b: Segment)
        straight::nearest_to_line(b, a).map(|(far, _)| far);
    725 dist_pl(POINT, LINE) -> FLOAT8 = (a: Point, b: Line)
        straight::nearest_on_line(b, a).map(|(far, _)| far);
    727 dist_sl(LSEG, LINE) -> FLOAT8 = (a: Segment, b: Line)
        straight::nearest_to_line(a, b).map(|(far, _)| far);
    728 dist_cpoly(CIRCLE, POLYGON) -> FLOAT8 = (a: Circle, b: Polygon) circle_to_polygon(a, &b);
    729 poly_distance(POLYGON, POLYGON) -> FLOAT8 = (a: Polygon, b: Polygon)
        area::polygons_distance(&a, &b);
    785 dist_polyc(POLYGON, CIRCLE) -> FLOAT8 = (a: Polygon, b: Circle) circle_to_polygon(b, &a);
    959 on_pl(POINT, LINE) -> BOOL = (a: Point, b: Line) straight::line_has(b, a);
    960 on_sl(LSEG, LINE) -> BOOL = (a: Segment, b: Line) lies_on(a, b);
    961 close_pl(POINT, LINE) -> POINT = (a: Point, b: Line)
        straight::nearest_on_line(b, a).map(found);
    973 path_inter(PATH, PATH) -> BOOL = (a: Path, b: Path) area::paths_meet(&a, &b);
    975 area(BOX) -> FLOAT8 = (a: Rectangle) box_area(a);
    976 width(BOX) -> FLOAT8 = (a: Rectangle) width(a);
    977 height(BOX) -> FLOAT8 = (a: Rectangle) height(a);
    978 box_distance(BOX, BOX) -> FLOAT8 = (a: Rectangle, b: Rectangle)
        distance(center(a)?, center(b)?);
    979 area(PATH) -> FLOAT8 = (a: Path) area::path_area(&a);
    980 box_intersect(BOX, BOX) -> BOX = (a: Rectangle, b: Rectangle) common_box(a, b);
    981 diagonal(BOX) -> LSEG = (a: Rectangle) Segment(a.high, a.low);
    982 path_n_lt(PATH, PATH) -> BOOL = (a: Path, b: Path) a.points.len() < b.points.len();
    983 path_n_gt(PATH, PATH) -> BOOL = (a: Path, b: Path) a.points.len() > b.points.len();
    984 path_n_eq(PATH, PATH) -> BOOL = (a: Path, b: Path) a.points.len() == b.points.len();
    985 path_n_le(PATH, PATH) -> BOOL = (a: Path, b: Path) a.points.len() <= b.points.len();
    986 path_n_ge(PATH, PATH) -> BOOL = (a: Path, b: Path) a.points.len() >= b.points.len();
    987 path_length(PATH) -> FLOAT8 = (a: Path) area::path_length(&a);
    988 point_ne(POINT, POINT) -> BOOL = (a: Point, b: Point) !a.is_same(b);
    989 point_vert(POINT, POINT) -> BOOL = (a: Point, b: Point) is_equal(a.x, b.x);
    990 point_horiz(POINT, POINT) -> BOOL = (a: Point, b: Point) is_equal(a.y, b.y);
    991 point_distance(POINT, POINT) -> FLOAT8 = (a: Point, b: Point) distance(a, b);
    992 slope(POINT, POINT) -> FLOAT8 = (a: Point, b: Point) a.slope(b);
    993 lseg(POINT, POINT) -> LSEG = (a: Point, b: Point) Segment(a, b);
    994 lseg_intersect(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment)
        straight::crossing(a, b).map(|found| found.is_some());
    995 lseg_parallel(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment)
        is_equal(slope(a)?, slope(b)?);
    996 lseg_perp(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment)
        is_equal(slope(a)?, b.0.inverse_slope(b.1)?);
    997 lseg_vertical(LSEG) -> BOOL = (a: Segment) is_equal(a.0.x, a.1.x);
    998 lseg_horizontal(LSEG) -> BOOL = (a: Segment) is_equal(a.0.y, a.1.y);
    999 lseg_eq(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) same_segments(a, b);
    1146 circle_add_pt(CIRCLE, POINT) -> CIRCLE = (a: Circle, b: Point)
        Circle { center: sum(a.center, b)?, ..a };
    1147 circle_sub_pt(CIRCLE, POINT) -> CIRCLE = (a: Circle, b: Point)
        Circle { center: difference(a.center, b)?, ..a };
    1148 circle_mul_pt(CIRCLE, POINT) -> CIRCLE = (a: Circle, b: Point)
        scaled_circle(a, b, product, mul8);
    1149 circle_div_pt(CIRCLE, POINT) -> CIRCLE = (a: Circle, b: Point)
        scaled_circle(a, b, quotient, div8);
    1406 isvertical(POINT, POINT) -> BOOL = (a: Point, b: Point) is_equal(a.x, b.x);
    1407 ishorizontal(POINT, POINT) -> BOOL = (a: Point, b: Point) is_equal(a.y, b.y);
    1408 isparallel(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) is_equal(slope(a)?, slope(b)?);
    1409 isperp(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment)
        is_equal(slope(a)?, b.0.inverse_slope(b.1)?);
    1410 isvertical(LSEG) -> BOOL = (a: Segment) is_equal(a.0.x, a.1.x);
    1411 ishorizontal(LSEG) -> BOOL = (a: Segment) is_equal(a.0.y, a.1.y);
    1412 isparallel(LINE, LINE) -> BOOL = (a: Line, b: Line)
        straight::crossing_of_lines(a, b).map(|found| found.is_none());
    1413 isperp(LINE, LINE) -> BOOL = (a: Line, b: Line) perpendicular(a, b);
    1414 isvertical(LINE) -> BOOL = (a: Line) is_zero(a.b);
    1415 ishorizontal(LINE) -> BOOL = (a: Line) is_zero(a.a);
    1416 point(CIRCLE) -> POINT = (a: Circle) a.center;
    1421 box(POINT, POINT) -> BOX = (a: Point, b: Point) Rectangle::of_corners(a, b);
    1422 box_add(BOX, POINT) -> BOX = (a: Rectangle, b: Point) moved_box(a, b, sum);
    1423 box_sub(BOX, POINT) -> BOX = (a: Rectangle, b: Point) moved_box(a, b, difference);
    1424 box_mul(BOX, POINT) -> BOX = (a: Rectangle, b: Point) turned_box(a, b, product);
    1425 box_div(BOX, POINT) -> BOX = (a: Rectangle, b: Point) turned_box(a, b, quotient);
    1426 path_contain_pt(PATH, POINT) -> BOOL = (a: Path, b: Point) area::path_has(&a, b);
    1428 poly_contain_pt(POLYGON, POINT) -> BOOL = (a: Polygon, b: Point)
        area::place(b, &a.points).map(PointLocation::is_within);
    1429 pt_contained_poly(POINT, POLYGON) -> BOOL = (a: Point, b: Polygon)
        area::place(a, &b.points).map(PointLocation::is_within);
    1430 isclosed(PATH) -> BOOL = (a: Path) a.is_closed;
    1431 isopen(PATH) -> BOOL = (a: Path) !a.is_closed;
    1432 path_npoints(PATH) -> INT4 = (a: Path) a.points.len() as i32;
    1433 pclose(PATH) -> PATH = (a: Path) Path { is_closed: true, ..a };
    1434 popen(PATH) -> PATH = (a: Path) Path { is_closed: false, ..a };
    1435 path_add(PATH, PATH) -> PATH = (a: Path, b: Path) joined(a, b);
    1436 path_add_pt(PATH, POINT) -> PATH = (a: Path, b: Point) moved_path(a, b, sum);
    1437 path_sub_pt(PATH, POINT) -> PATH = (a: Path, b: Point) moved_path(a, b, difference);
    1438 path_mul_pt(PATH, POINT) -> PATH = (a: Path, b: Point) moved_path(a, b, product);
    1439 path_div_pt(PATH, POINT) -> PATH = (a: Path, b: Point) moved_path(a, b, quotient);
    1440 point(FLOAT8, FLOAT8) -> POINT = (a: f64, b: f64) Point::new(a, b);
    1441 point_add(POINT, POINT) -> POINT = (a: Point, b: Point) sum(a, b);
    1442 point_sub(POINT, POINT) -> POINT = (a: Point, b: Point) difference(a, b);
    1443 point_mul(POINT, POINT) -> POINT = (a: Point, b: Point) product(a, b);
    1444 point_div(POINT, POINT) -> POINT = (a: Point, b: Point) quotient(a, b);
    1445 poly_npoints(POLYGON) -> INT4 = (a: Polygon) a.points.len() as i32;
    1446 box(POLYGON) -> BOX = (a: Polygon) around(&a);
    1447 path(POLYGON) -> PATH = (a: Polygon) Path { is_closed: true, points: a.points };
    1448 polygon(BOX) -> POLYGON = (a: Rectangle) box_to_polygon(a);
    1449 polygon(PATH) -> POLYGON = (a: Path) path_to_polygon(a);
    1452 circle_same(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle) same_circles(a, b);
    1453 circle_contain(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle) circle_contains(a, b);
    1454 circle_left(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle) is_less(right(a)?, left(b)?);
    1455 circle_overleft(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_most(right(a)?, right(b)?);
    1456 circle_overright(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_least(left(a)?, left(b)?);
    1457 circle_right(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_greater(left(a)?, right(b)?);
    1458 circle_contained(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle) circle_contains(b, a);
    1459 circle_overlap(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle) circles_overlap(a, b);
    1460 circle_below(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_less(top(a)?, bottom(b)?);
    1461 circle_above(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_greater(bottom(a)?, top(b)?);
    1462 circle_eq(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_equal(circle_area(a)?, circle_area(b)?);
    1463 circle_ne(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_other(circle_area(a)?, circle_area(b)?);
    1464 circle_lt(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_less(circle_area(a)?, circle_area(b)?);
    1465 circle_gt(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_greater(circle_area(a)?, circle_area(b)?);
    1466 circle_le(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_most(circle_area(a)?, circle_area(b)?);
    1467 circle_ge(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_least(circle_area(a)?, circle_area(b)?);
    1468 area(CIRCLE) -> FLOAT8 = (a: Circle) circle_area(a);
    1469 diameter(CIRCLE) -> FLOAT8 = (a: Circle) mul8(a.radius, 2.0);
    1470 radius(CIRCLE) -> FLOAT8 = (a: Circle) a.radius;
    1471 circle_distance(CIRCLE, CIRCLE) -> FLOAT8 = (a: Circle, b: Circle) circles_distance(a, b);
    1472 circle_center(CIRCLE) -> POINT = (a: Circle) a.center;
    1473 circle(POINT, FLOAT8) -> CIRCLE = (a: Point, b: f64) Circle { center: a, radius: b };
    1474 circle(POLYGON) -> CIRCLE = (a: Polygon) area::circle_of(&a);
    1475 polygon(INT4, CIRCLE) -> POLYGON = (a: i32, b: Circle) polygon_of_circle(a, b);
    1476 dist_pc(POINT, CIRCLE) -> FLOAT8 = (a: Point, b: Circle) circle_to_point(b, a);
    1477 circle_contain_pt(CIRCLE, POINT) -> BOOL = (a: Circle, b: Point) circle_has(a, b);
    1478 pt_contained_circle(POINT, CIRCLE) -> BOOL = (a: Point, b: Circle) circle_has(b, a);
    1479 circle(BOX) -> CIRCLE = (a: Rectangle) box_to_circle(a);
    1480 box(CIRCLE) -> BOX = (a: Circle) circle_to_box(a);
    1482 lseg_ne(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) !same_segments(a, b);
    1483 lseg_lt(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) is_less(length(a)?, length(b)?);
    1484 lseg_le(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) is_at_most(length(a)?, length(b)?);
    1485 lseg_gt(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment) is_greater(length(a)?, length(b)?);
    1486 lseg_ge(LSEG, LSEG) -> BOOL = (a: Segment, b: Segment)
        is_at_least(length(a)?, length(b)?);
    1487 lseg_length(LSEG) -> FLOAT8 = (a: Segment) length(a);
    1488 close_ls(LINE, LSEG) -> POINT = (a: Line, b: Segment) nearest_to_line(a, b);
    1489 close_lseg(LSEG, LSEG) -> POINT = (a: Segment, b: Segment) nearest_to_segment(a, b);
    1492 line_eq(LINE, LINE) -> BOOL = (a: Line, b: Line) same_lines(a, b);
    1493 line(POINT, POINT) -> LINE = (a: Point, b: Point) line_through(a, b);
    1494 line_interpt(LINE, LINE) -> POINT = (a: Line, b: Line) straight::crossing_of_lines(a, b);
    1495 line_intersect(LINE, LINE) -> BOOL = (a: Line, b: Line)
        straight::crossing_of_lines(a, b).map(|found| found.is_some());
    1496 line_parallel(LINE, LINE) -> BOOL = (a: Line, b: Line)
        straight::crossing_of_lines(a, b).map(|found| found.is_none());
    1497 line_perp(LINE, LINE) -> BOOL = (a: Line, b: Line) perpendicular(a, b);
    1498 line_vertical(LINE) -> BOOL = (a: Line) is_zero(a.b);
    1499 line_horizontal(LINE) -> BOOL = (a: Line) is_zero(a.a);
    1530 length(LSEG) -> FLOAT8 = (a: Segment) length(a);
    1531 length(PATH) -> FLOAT8 = (a: Path) area::path_length(&a);
    1532 point(LSEG) -> POINT = (a: Segment) middle(a.0, a.1);
    1534 point(BOX) -> POINT = (a: Rectangle) center(a);
    1540 point(POLYGON) -> POINT = (a: Polygon) area::circle_of(&a).map(|circle| circle.center);
    1541 lseg(BOX) -> LSEG = (a: Rectangle) Segment(a.high, a.low);
    1542 center(BOX) -> POINT = (a: Rectangle) center(a);
    1543 center(CIRCLE) -> POINT = (a: Circle) a.center;
    1544 polygon(CIRCLE) -> POLYGON = (a: Circle) polygon_of_circle(12, a);
    1545 npoints(PATH) -> INT4 = (a: Path) a.points.len() as i32;
    1556 npoints(POLYGON) -> INT4 = (a: Polygon) a.points.len() as i32;
    2562 box_below(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) is_less(a.high.y, b.low.y);
    2563 box_overbelow(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_most(a.high.y, b.high.y);
    2564 box_overabove(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle)
        is_at_least(a.low.y, b.low.y);
    2565 box_above(BOX, BOX) -> BOOL = (a: Rectangle, b: Rectangle) is_greater(a.low.y, b.high.y);
    2566 poly_below(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).high.y < around(&b).low.y;
    2567 poly_overbelow(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).high.y <= around(&b).high.y;
    2568 poly_overabove(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).low.y >= around(&b).low.y;
    2569 poly_above(POLYGON, POLYGON) -> BOOL = (a: Polygon, b: Polygon)
        around(&a).low.y > around(&b).high.y;
    2587 circle_overbelow(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_most(top(a)?, top(b)?);
    2588 circle_overabove(CIRCLE, CIRCLE) -> BOOL = (a: Circle, b: Circle)
        is_at_least(bottom(a)?, bottom(b)?);
    3275 dist_ppoly(POINT, POLYGON) -> FLOAT8 = (a: Point, b: Polygon)
        area::polygon_distance(&b, a);
    3290 dist_cpoint(CIRCLE, POINT) -> FLOAT8 = (a: Circle, b: Point) circle_to_point(a, b);
    3292 dist_polyp(POLYGON, POINT) -> FLOAT8 = (a: Polygon, b: Point)
        area::polygon_distance(&a, b);
    4067 bound_box(BOX, BOX) -> BOX = (a: Rectangle, b: Rectangle) bound_box(a, b);
    4091 box(POINT) -> BOX = (a: Point) Rectangle { high: a, low: a };
};
